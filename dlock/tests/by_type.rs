//! A backend by its type, without a URL and without a second crate.

use dlock::{Locker, Memory, backend::DistributedLock};

/// Compiles only if the facade has the store's types.
#[test]
fn each_feature_has_the_types_of_its_store() {
    fn is_backend<T: DistributedLock>() {}
    fn is_public<T>() {}
    is_backend::<Memory>();
    is_backend::<Box<dyn DistributedLock>>();
    is_public::<dlock::backend::Lease>();
    #[cfg(feature = "etcd")]
    {
        is_backend::<dlock::etcd::EtcdLock>();
        is_public::<dlock::etcd::EtcdConfig>();
        is_public::<dlock::etcd::TxnCondition>();
    }
    #[cfg(feature = "file")]
    {
        is_backend::<dlock::file::FileLock>();
        is_public::<dlock::file::FileConfig>();
    }
    #[cfg(feature = "mysql")]
    {
        is_backend::<dlock::mysql::MySqlLock>();
        is_public::<dlock::mysql::MySqlConfig>();
    }
    #[cfg(feature = "redis")]
    {
        is_backend::<dlock::redis::RedisLock>();
        is_public::<dlock::redis::RedisConfig>();
    }
    #[cfg(feature = "zk")]
    {
        is_backend::<dlock::zk::ZkLock>();
        is_public::<dlock::zk::ZkConfig>();
    }
}

#[tokio::test]
async fn a_backend_of_a_type_that_is_chosen_at_run_time() {
    let store = Memory::new();
    let backend: Box<dyn DistributedLock> = Box::new(store.clone());
    let locks = Locker::builder(backend).build().expect("locker");
    let _guard = locks.acquire("a").await.expect("free");
    assert_eq!(store.names().len(), 1);
}

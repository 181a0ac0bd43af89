//! A boxed backend: of any type, as a registry opens it.

use std::{future::Future, pin::Pin};

use crate::{
    backend::{
        capabilities::Capabilities,
        distributed_lock::DistributedLock,
        holder::Holder,
        lease::{Lease, Renewed},
        migration::MigrationRecord,
        request::AcquireRequest,
        token_counter::TokenCounter,
    },
    base::{clock::Clock, error::Result, name::LockName},
};

/// The return type that `async_trait` gives a method. With the macro, each call would box a second future.
type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A backend of any type, which a [`Locker`](crate::Locker) takes like the backend itself.
///
/// There is none for `Arc`: two lockers over one backend would close each other's locks.
impl DistributedLock for Box<dyn DistributedLock> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn clock(&self) -> Clock {
        (**self).clock()
    }

    fn acquire<'a, 'b, 'c>(&'a self, request: &'b AcquireRequest) -> Reply<'c, Lease>
    where
        'a: 'c,
        'b: 'c,
    {
        (**self).acquire(request)
    }

    fn renew<'a, 'b, 'c>(&'a self, lease: &'b Lease) -> Reply<'c, Renewed>
    where
        'a: 'c,
        'b: 'c,
    {
        (**self).renew(lease)
    }

    fn release<'a, 'b, 'c>(&'a self, lease: &'b Lease) -> Reply<'c, ()>
    where
        'a: 'c,
        'b: 'c,
    {
        (**self).release(lease)
    }

    fn inspect<'a, 'b, 'c>(&'a self, name: &'b LockName) -> Reply<'c, Option<Holder>>
    where
        'a: 'c,
        'b: 'c,
    {
        (**self).inspect(name)
    }

    fn close<'a, 'c>(&'a self) -> Reply<'c, ()>
    where
        'a: 'c,
    {
        (**self).close()
    }

    fn migration_record(&self) -> Option<&dyn MigrationRecord> {
        (**self).migration_record()
    }

    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        (**self).token_counter()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{
        backend::distributed_lock::DistributedLock, base::error::Result, client::locker::Locker,
        memory::Memory,
    };

    #[tokio::test(start_paused = true)]
    async fn every_call_reaches_the_backend() -> Result<()> {
        let store = Memory::new();
        let backend: Box<dyn DistributedLock> = Box::new(store.clone());
        assert_eq!(backend.capabilities(), store.capabilities());
        let locks = Locker::builder(backend).build()?;
        let guard = locks.acquire("seat/14C").await?;
        guard.renew().await?;
        assert!(locks.inspect("seat/14C").await?.is_some());
        guard.release().await?;
        assert!(store.names().is_empty());
        let _guard = locks.acquire("seat/14C").await?;
        locks.shutdown(Duration::from_secs(5)).await?;
        assert!(store.names().is_empty());
        Ok(())
    }
}

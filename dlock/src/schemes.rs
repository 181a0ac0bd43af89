//! The schemes, and the functions that make a backend of their settings.

use dlock_core::{
    Result,
    backend::DistributedLock,
    config::{Config, ConnectFuture, Registry, Settings},
    memory::Memory,
};
#[cfg(feature = "etcd")]
use dlock_etcd::{EtcdConfig, EtcdLock};
#[cfg(feature = "file")]
use dlock_file::{FileConfig, FileLock};
#[cfg(feature = "mysql")]
use dlock_mysql::{MySqlConfig, MySqlLock};
#[cfg(feature = "redis")]
use dlock_redis::{RedisConfig, RedisLock, Topology};
#[cfg(feature = "zk")]
use dlock_zk::{ZkConfig, ZkLock};

/// The schemes of Redis: the kind of server at the addresses, and whether TLS is used.
#[cfg(feature = "redis")]
const REDIS: [(&str, Topology, bool); 6] = [
    ("redis", Topology::Server, false),
    ("rediss", Topology::Server, true),
    ("redis-sentinel", Topology::Sentinel, false),
    ("rediss-sentinel", Topology::Sentinel, true),
    ("redis-cluster", Topology::Cluster, false),
    ("rediss-cluster", Topology::Cluster, true),
];

#[cfg(not(feature = "redis"))]
const REDIS: [&str; 6] = [
    "redis",
    "rediss",
    "redis-sentinel",
    "rediss-sentinel",
    "redis-cluster",
    "rediss-cluster",
];

/// The schemes of ZooKeeper, and whether TLS is used.
const ZK: [(&str, bool); 2] = [("zk", false), ("zks", true)];

/// The stores of [`connect`](crate::connect), by scheme.
///
/// Add one of your own with [`register`](Registry::register), and open it with [`Registry::connect`].
///
/// ```
/// use dlock::{Config, Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock::Result<()> {
/// let registry = dlock::registry()
///     .register("table", |_| Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) })));
/// let locks = registry.connect(&Config::from_url("table:?ttl=10s")?).await?;
/// assert!(locks.acquire("seat/14C").await?.is_held());
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn registry() -> Registry {
    let registry = Registry::new().register("memory", memory);
    #[cfg(feature = "file")]
    let registry = registry.register("file", file);
    #[cfg(not(feature = "file"))]
    let registry = registry.register_disabled("file", "file");
    #[cfg(feature = "etcd")]
    let registry = registry
        .register("etcd", |settings| etcd(settings, false))
        .register("etcds", |settings| etcd(settings, true));
    #[cfg(not(feature = "etcd"))]
    let registry = registry
        .register_disabled("etcd", "etcd")
        .register_disabled("etcds", "etcd");
    #[cfg(feature = "mysql")]
    let registry = registry.register("mysql", mysql).register("mariadb", mysql);
    #[cfg(not(feature = "mysql"))]
    let registry = registry
        .register_disabled("mysql", "mysql")
        .register_disabled("mariadb", "mysql");
    #[cfg(feature = "redis")]
    let registry = REDIS
        .iter()
        .fold(registry, |registry, (scheme, topology, tls)| {
            registry.register(scheme, |settings| redis(settings, *topology, *tls))
        });
    #[cfg(not(feature = "redis"))]
    let registry = REDIS.iter().fold(registry, |registry, scheme| {
        registry.register_disabled(scheme, "redis")
    });
    #[cfg(feature = "zk")]
    let registry = ZK.iter().fold(registry, |registry, (scheme, tls)| {
        registry.register(scheme, |settings| zk(settings, *tls))
    });
    #[cfg(not(feature = "zk"))]
    let registry = ZK.iter().fold(registry, |registry, (scheme, _)| {
        registry.register_disabled(scheme, "zk")
    });
    registry
}

/// The SQL statements that create the tables of the store that `config` names.
///
/// For an administrator to run by hand. None for a store that needs no tables, or is not built in.
///
/// ```
/// let config = dlock::Config::from_url("mysql://app@db-1/locks")?;
/// for statement in dlock::setup_statements(&config) {
///     println!("{statement};");
/// }
/// # Ok::<(), dlock::Error>(())
/// ```
#[must_use]
pub fn setup_statements(config: &Config) -> Vec<&'static str> {
    match config.url().scheme() {
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => dlock_mysql::setup_statements().collect(),
        _ => Vec::new(),
    }
}

fn memory(settings: &mut Settings) -> Result<ConnectFuture> {
    let backend = Memory::new();
    let can = backend.capabilities();
    settings.check_ttl(can.ttl_min..=can.ttl_max)?;
    Ok(Box::pin(async { Ok(Box::new(backend) as _) }))
}

#[cfg(feature = "file")]
fn file(settings: &mut Settings) -> Result<ConnectFuture> {
    let config = match settings.take_path() {
        Some(path) => FileConfig::new(path).map_err(|error| settings.invalid(error))?,
        None => FileConfig::of_user()?,
    };
    let prefix = settings.take_prefix()?.unwrap_or_default();
    let config = config
        .with_prefix(&prefix)
        .map_err(|error| settings.invalid(error))?;
    Ok(Box::pin(async {
        Ok(Box::new(FileLock::open(config)?) as _)
    }))
}

#[cfg(feature = "etcd")]
fn etcd(settings: &mut Settings, tls: bool) -> Result<ConnectFuture> {
    let config = EtcdConfig::from_settings(settings, tls)?;
    Ok(Box::pin(async {
        Ok(Box::new(EtcdLock::connect(config).await?) as _)
    }))
}

#[cfg(feature = "mysql")]
fn mysql(settings: &mut Settings) -> Result<ConnectFuture> {
    let config = MySqlConfig::from_settings(settings)?;
    Ok(Box::pin(async {
        Ok(Box::new(MySqlLock::connect(config).await?) as _)
    }))
}

#[cfg(feature = "redis")]
fn redis(settings: &mut Settings, topology: Topology, tls: bool) -> Result<ConnectFuture> {
    let config = RedisConfig::from_settings(settings, topology, tls)?;
    Ok(Box::pin(async {
        Ok(Box::new(RedisLock::connect(config).await?) as _)
    }))
}

#[cfg(feature = "zk")]
fn zk(settings: &mut Settings, tls: bool) -> Result<ConnectFuture> {
    let config = ZkConfig::from_settings(settings, tls)?;
    Ok(Box::pin(async {
        Ok(Box::new(ZkLock::connect(config).await?) as _)
    }))
}

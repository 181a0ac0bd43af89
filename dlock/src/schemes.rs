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
use dlock_redis::{RedisConfig, RedisLock};
#[cfg(feature = "zk")]
use dlock_zk::{ZkConfig, ZkLock};

/// The stores of [`connect`](crate::connect), by scheme.
///
/// Add one of your own with [`register`](Registry::register), and open it with [`Registry::connect`]. For `migrate:` with
/// that store, pass the registry to [`layers::register`](crate::layers::register) afterwards.
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
    #[cfg(feature = "etcd")]
    let registry = add(registry, EtcdConfig::SCHEMES, etcd);
    #[cfg(not(feature = "etcd"))]
    let registry = leave_out(registry, "etcd", &["etcd", "etcds"]);
    #[cfg(feature = "file")]
    let registry = add(registry, FileConfig::SCHEMES, file);
    #[cfg(not(feature = "file"))]
    let registry = leave_out(registry, "file", &["file"]);
    #[cfg(feature = "mysql")]
    let registry = add(registry, MySqlConfig::SCHEMES, mysql);
    #[cfg(not(feature = "mysql"))]
    let registry = leave_out(registry, "mysql", &["mysql", "mariadb"]);
    #[cfg(feature = "redis")]
    let registry = add(registry, RedisConfig::SCHEMES, redis);
    #[cfg(not(feature = "redis"))]
    let registry = leave_out(
        registry,
        "redis",
        &[
            "redis",
            "rediss",
            "redis-sentinel",
            "rediss-sentinel",
            "redis-cluster",
            "rediss-cluster",
        ],
    );
    #[cfg(feature = "zk")]
    let registry = add(registry, ZkConfig::SCHEMES, zk);
    #[cfg(not(feature = "zk"))]
    let registry = leave_out(registry, "zk", &["zk", "zks"]);
    dlock_layers::register(registry)
}

/// Adds a backend under all its schemes.
#[cfg(any(
    feature = "etcd",
    feature = "file",
    feature = "mysql",
    feature = "redis",
    feature = "zk"
))]
fn add(
    registry: Registry,
    schemes: &[&'static str],
    factory: fn(&mut Settings) -> Result<ConnectFuture>,
) -> Registry {
    let add = |registry: Registry, scheme: &&'static str| registry.register(scheme, factory);
    schemes.iter().fold(registry, add)
}

/// Adds the schemes of a backend that is not built in.
#[cfg(not(all(
    feature = "etcd",
    feature = "file",
    feature = "mysql",
    feature = "redis",
    feature = "zk"
)))]
fn leave_out(registry: Registry, feature: &'static str, schemes: &[&'static str]) -> Registry {
    let add =
        |registry: Registry, scheme: &&'static str| registry.register_disabled(scheme, feature);
    schemes.iter().fold(registry, add)
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
        scheme if MySqlConfig::SCHEMES.contains(&scheme) => {
            dlock_mysql::setup_statements().collect()
        }
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
    let config = FileConfig::from_settings(settings)?;
    Ok(Box::pin(async {
        Ok(Box::new(FileLock::open(config)?) as _)
    }))
}

#[cfg(feature = "etcd")]
fn etcd(settings: &mut Settings) -> Result<ConnectFuture> {
    let config = EtcdConfig::from_settings(settings)?;
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
fn redis(settings: &mut Settings) -> Result<ConnectFuture> {
    let config = RedisConfig::from_settings(settings)?;
    Ok(Box::pin(async {
        Ok(Box::new(RedisLock::connect(config).await?) as _)
    }))
}

#[cfg(feature = "zk")]
fn zk(settings: &mut Settings) -> Result<ConnectFuture> {
    let config = ZkConfig::from_settings(settings)?;
    Ok(Box::pin(async {
        Ok(Box::new(ZkLock::connect(config).await?) as _)
    }))
}

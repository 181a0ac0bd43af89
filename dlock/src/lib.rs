//! One lock API for Redis, etcd, ZooKeeper, MySQL, files and memory: a URL names the store.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), dlock::Error> {
//! let locks = dlock::connect("memory:").await?;
//!
//! locks.scope("invoices/2026-08", async |guard| {
//!     println!("invoicing under token {}", guard.token());
//!     Ok::<_, dlock::Error>(())
//! }).await?;
//!
//! if let Some(guard) = locks.try_acquire("nightly-report").await? {
//!     guard.run(async { println!("reporting") }).await?;
//!     guard.release().await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Stores
//!
//! | URL | cargo feature | holds between |
//! |---|---|---|
//! | `file:/dir` | `file` (on by default) | processes of one machine, of the user who owns the directory |
//! | `file:` | `file` | processes of one user of one machine |
//! | `etcd://host,host`, `etcds://…` by TLS | `etcd` | processes of many machines |
//! | `mysql://user@host/database`, `mariadb://…` | `mysql` | processes of many machines |
//! | `redis://host`, `redis-sentinel://host,host/service`, `redis-cluster://host,host`, and `rediss…` by TLS | `redis` | processes of many machines |
//! | `zk://host,host,host`, `zks://…` by TLS | `zk` | processes of many machines |
//! | `memory:` | | tasks of one locker; each `connect` makes a new store |
//! | `quorum:?1=URL&2=URL&3=URL` | | as its nodes, in most of them: see [`layers`] |
//! | `redis-quorum://host,host,host`, `rediss-quorum://…` by TLS | `redis` | processes of many machines |
//! | `migrate:?from=URL&to=URL` | | as both of them, during a move from one to the other: see [`layers`] |
//!
//! The cargo feature `tls`, on by default, encrypts; without it `etcds:`, `rediss:` and `zks:` are refused. The
//! feature `driver-api` lets the backends of Redis and MySQL take settings of their drivers.
//!
//! # Without a URL
//!
//! [`Locker::builder`] takes a backend that the program has opened itself. Each feature has a module with the
//! types of its store: `dlock::etcd`, `dlock::file`, `dlock::mysql`, `dlock::redis` and `dlock::zk`.
//! [`backend`] has the trait that all of them implement.
//!
//! ```
//! # #[cfg(feature = "file")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use dlock::{Locker, file::{FileConfig, FileLock}};
//!
//! let directory = tempfile::tempdir()?;
//! let backend = FileLock::open(FileConfig::new(directory.path()))?;
//! let locks = Locker::builder(backend).build()?;
//! assert!(locks.acquire("seat/14C").await?.is_held());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "file"))]
//! # fn main() {}
//! ```
//!
//! # Without a runtime
//!
//! The module `blocking` has the same locks for programs without tokio. Its cargo feature, `blocking`, is on by
//! default.
//!
//! # Settings
//!
//! Settings are keys of the URL, as in `file:/var/lock/app?ttl=10s&wait=1m`, or of a file, see
//! [`config`]. A key that a store does not know is an error. With the cargo feature `serde`, a [`Config`] can
//! be a field of the program's own configuration. These keys are common:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `ttl` | lifetime of a lock without a renewal; each store has bounds | 30 s |
//! | `wait` | default wait of an acquire; at most 30 days | 30 s, or `restart_guard` + 10 s if longer |
//! | `connect_wait` | wait for a store that cannot be reached; at most 30 days | 0: connecting fails at once |
//! | `token_base` | number added to every token, for a move between stores; at most 2^62 | 0 |
//! | `prefix` | prefix of every name in the store; not for `memory:` | of the store, see below |
//!
//! The default `prefix` is empty for `file:` and `mysql:`, `dlock:` for `redis:`, `dlock/` for `etcd:` and
//! `dlock` for `zk:`.
//!
//! # Observability
//!
//! `tracing` reports each loss as a warning. It reports once per wait, with the target
//! `dlock_core::waiting`, why the store cannot serve it. The same holds for a wait for the store itself. Internal steps
//! are `debug`.
//!
//! The spans `dlock.acquire` and `dlock.hold` have the fields `store`, `name`, `attempt`, `token` and `outcome`, for
//! OpenTelemetry.
//!
//! The crate `metrics` has these metrics, each with the label `backend`, and none with the name of a lock. Install
//! the recorder before `connect`: then every series exists from the start, with its help text and unit.
//!
//! | metric | kind | meaning |
//! |---|---|---|
//! | `dlock_waiting` | gauge | acquires under way |
//! | `dlock_wait_seconds` | histogram | how long each acquire took, with any result |
//! | `dlock_held` | gauge | locks that are held |
//! | `dlock_hold_seconds` | histogram | how long each lock was held, recorded at its end |
//! | `dlock_oldest_hold_seconds` | gauge | how long the oldest lock has been held; 0 if none is |
//! | `dlock_grants_total` | counter | grants |
//! | `dlock_contended_total` | counter | acquires that ended because the lock was taken |
//! | `dlock_unavailable_total` | counter | acquires that ended because the store did not serve them |
//! | `dlock_lost_total` | counter | locks that were lost, by `cause` as in [`LostCause`] |
//! | `dlock_renewals_total` | counter | renewals by `result`: `confirmed`, `failed`, `lost` |
//! | `dlock_renew_lag_seconds` | histogram | delay of a renewal after its due time |
//! | `dlock_margin_ratio` | histogram | part of the ttl that was left when a renewal was confirmed |
//! | `dlock_store_seconds` | histogram | time of a request by `op`: `acquire`, `renew`, `release`, `inspect` |
//! | `dlock_releases_pending` | gauge | releases in the background that are not confirmed |
//! | `dlock_stragglers_total` | counter | on `migrate:`, holders in the old store alone that were waited for |
//!
//! `dlock_store_seconds` leaves out acquires that waited for another holder or were given up. The directory
//! `docs/observability` of the repository has alert rules and a dashboard of these metrics.
//!
//! # Next steps
//!
//! [`Locker`] takes locks, [`Guard`] is a held lock. Every async function documents its cancel safety, and
//! every error has a [`kind`](Error::kind) to decide by. [`Memory`] injects faults, to test your own code.
//! Authors of a backend start from the crate `dlock-core` and add theirs to the [`registry`].

#[cfg(feature = "blocking")]
pub mod blocking;
mod schemes;

#[cfg(feature = "etcd")]
#[doc(inline)]
pub use dlock_etcd as etcd;
#[cfg(feature = "file")]
#[doc(inline)]
pub use dlock_file as file;
pub use dlock_layers as layers;
#[cfg(feature = "mysql")]
#[doc(inline)]
pub use dlock_mysql as mysql;
#[cfg(feature = "redis")]
#[doc(inline)]
pub use dlock_redis as redis;
#[cfg(feature = "zk")]
#[doc(inline)]
pub use dlock_zk as zk;

pub use dlock_core::{
    Acquire, AcquireAll, AttemptId, BootInstant, Capabilities, Clock, Effect, Error, ErrorKind,
    ExpiresWithin, Expiry, Fencing, Guard, GuardSet, Holder, LockName, Locker, LockerBuilder, Lost,
    LostCause, Mode, Modes, Order, Result, Token, TryAcquire, Waiting, backend,
    config::{self, Config},
    memory::{Fault, Memory, Operation},
};

pub use crate::schemes::{registry, setup_statements};

/// Opens the store that `config` names: a URL, or a [`Config`] that was found elsewhere.
///
/// Must be called inside a tokio runtime, in which the locker then lives.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), dlock::Error> {
/// let locks = dlock::connect("memory:?ttl=10s").await?;
/// # let text = "url = 'memory:'";
///
/// let config = dlock::Config::from_toml(text)?;    // or ::discover(): DLOCK_URL, dlock.toml, …
/// let locks = dlock::connect(config).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// `InvalidConfig` for a wrong URL or setting, before any I/O; `Unavailable`, `Denied` and others
/// when the store cannot be opened. A store that cannot be reached is waited for as long as the key `connect_wait`
/// says.
///
/// # Cancel safety
///
/// Dropping the future drops what was opened so far.
pub async fn connect<C>(config: C) -> Result<Locker>
where
    C: TryInto<Config>,
    Error: From<C::Error>,
{
    registry().connect(&config.try_into()?).await
}

/// The examples of the README, compiled.
#[cfg(all(doctest, feature = "blocking"))]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))]
struct Readme;

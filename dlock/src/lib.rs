//! One lock API over many stores: the store is one URL.
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
//! | `file:/dir` | `file` (on by default) | processes of one machine, all of the user who owns the directory |
//! | `file:` | `file` | processes of one user of one machine |
//! | `etcd://host,host`, `etcds://…` by TLS | `etcd` | processes of many machines |
//! | `mysql://user@host/database`, `mariadb://…` | `mysql` | processes of many machines |
//! | `redis://host`, `redis-sentinel://host,host/service`, `redis-cluster://host,host`, and `rediss…` by TLS | `redis` | processes of many machines |
//! | `zk://host,host,host`, `zks://…` by TLS | `zk` | processes of many machines |
//! | `memory:` | | tasks of one locker; each `connect` makes a new store |
//!
//! # Settings
//!
//! They are keys of the URL, as in `file:/var/lock/app?ttl=10s&wait=1m`, or of a file, see
//! [`config`]. A key that a store does not know is an error. These are common:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `ttl` | how long a lock lives without a renewal, where the store can end it; each store has bounds | 30 s |
//! | `wait` | how long an acquire waits that does not say; 30 days at the most | 30 s; of a store with a `restart_guard`, 10 s more than that at least |
//! | `token_base` | is added to every token: for a move from a store with larger ones; 2^62 at the most | 0 |
//! | `prefix` | comes before every name in the store; not for `memory:` | empty for `file:` and `mysql:`, `dlock:` for `redis:`, `dlock/` for `etcd:`, `dlock` for `zk:` |
//!
//! # What can be watched
//!
//! Losses are told by `tracing` as warnings, and so is why a wait cannot be served (once for each, with the target
//! `dlock_core::waiting`); what goes on inside as `debug`. The crate `metrics` has these, each with
//! the label `backend`, and none with a name:
//!
//! | metric | kind | what it counts |
//! |---|---|---|
//! | `dlock_waiting` | gauge | acquires under way |
//! | `dlock_wait_seconds` | histogram | how long each took, whatever came of it |
//! | `dlock_held` | gauge | locks that are held |
//! | `dlock_hold_seconds` | histogram | how long each was held |
//! | `dlock_grants_total` | counter | grants |
//! | `dlock_contended_total` | counter | acquires that ended because the lock was taken |
//! | `dlock_unavailable_total` | counter | acquires that ended because the store could not be asked |
//! | `dlock_lost_total` | counter | locks that were lost |
//! | `dlock_renew_lag_seconds` | histogram | how long after it was due a renewal began |
//!
//! # Where to go on
//!
//! [`Locker`] takes locks, [`Guard`] is a held one. Every waiting function says what dropping its
//! future costs, and every error has a [`kind`](Error::kind) to decide by. [`Memory`] can be told to
//! fail, to test your own code. Whoever writes a backend starts from the crate `dlock-core` and adds
//! it to the [`registry`].

mod schemes;

pub use dlock_core::{
    Acquire, AcquireAll, AttemptId, BootInstant, Capabilities, Clock, Effect, Error, ErrorKind,
    ExpiresWithin, Expiry, Fencing, Guard, GuardSet, Holder, LockName, Locker, LockerBuilder, Lost,
    LostCause, Mode, Modes, Order, Result, Token, TryAcquire, Waiting,
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
/// when the store cannot be opened.
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

/// The examples of the first page, compiled.
#[cfg(doctest)]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))]
struct Readme;

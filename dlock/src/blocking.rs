//! Locks for programs without a tokio runtime: each locker has a thread of its own.
//!
//! ```
//! # fn main() -> Result<(), dlock::Error> {
//! use std::time::Duration;
//!
//! let locks = dlock::blocking::connect("memory:")?;
//!
//! locks.scope("invoices/2026-08", |guard| {
//!     println!("invoicing under token {}", guard.token());
//!     Ok::<_, dlock::Error>(())
//! })?;
//!
//! let seat = locks.acquire("seat/14C").wait(Duration::from_secs(2)).lock()?;
//! seat.release()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`dlock_core::blocking`] has the promises: what each call waits for, what happens at the end of the program, in
//! async code and after a fork.

pub use dlock_core::blocking::{
    Acquire, AcquireAll, Guard, GuardSet, LAST_DROP_MAX, Locker, LockerBuilder, TryAcquire,
};
use dlock_core::{Config, Error, Result};

/// Opens the store that `config` names: a URL, or a [`Config`] that was found elsewhere.
///
/// ```
/// # fn main() -> dlock::Result<()> {
/// let locks = dlock::blocking::connect("memory:?ttl=10s")?;
/// let guard = locks.acquire("seat/14C").lock()?;
/// println!("sold under token {}", guard.token());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`connect`](crate::connect); `Unavailable` also when the locker's thread cannot be started.
///
/// # Blocking
///
/// For as long as the store takes to connect, by its own timeouts.
pub fn connect<C>(config: C) -> Result<Locker>
where
    C: TryInto<Config>,
    Error: From<C::Error>,
{
    Locker::connect(&crate::registry(), config)
}

//! Locks for programs without a tokio runtime: each locker has a thread of its own.
//!
//! The names and the promises are those of the async API, and the calls block instead of being awaited.
//! [`Locker::acquire`] and its siblings return a builder that [`lock`](Acquire::lock) ends.
//!
//! ```
//! # use dlock_core::{blocking, memory::Memory};
//! # fn main() -> dlock_core::Result<()> {
//! # let locks = blocking::Locker::builder(Memory::new()).build()?;
//! use std::time::Duration;
//!
//! let guard = locks.acquire("seat/14C").wait(Duration::from_secs(2)).lock()?;
//! println!("sold under token {}", guard.token());
//! guard.release()?;
//! # Ok(())
//! # }
//! ```
//!
//! # The thread
//!
//! The thread renews held locks, reports losses and releases dropped locks, also while all threads of the
//! program compute. [`Guard::is_held`] reads the clock, so it is false by the deadline in any case (K8). The
//! thread lives as long as the last handle: a locker, a guard, or an acquire that has not begun.
//!
//! # The end of a program
//!
//! Dropping a guard sends its release to the thread and does not block. Dropping the last handle waits until
//! all releases are confirmed and the backend is closed, for [`LAST_DROP_MAX`] at most. A program whose handles
//! are all dropped at the end of `main` leaves nothing locked.
//!
//! A process that ends otherwise sends nothing: by `std::process::exit`, by a signal, or with a handle in a
//! `static`, in another thread or in `mem::forget`. Its locks then end by their ttl or with its session. Call
//! [`Guard::release`] or [`Locker::shutdown`] before such an end.
//!
//! In the destructor of a thread-local, drop handles and do not call them: depending on the order of the
//! destructors, a call fails with `Unsupported`. A guard that [`Guard::release`] consumes there is dropped.
//!
//! # Bounds
//!
//! A call that blocks cannot be cancelled. Each call has a bound of its own:
//!
//! | call | blocks for at most |
//! |---|---|
//! | [`Acquire::lock`], [`AcquireAll::lock`] | the wait, which has a default; [`wait_forever`](Acquire::wait_forever) has none but a shutdown |
//! | [`TryAcquire::lock`] | the ttl |
//! | [`Guard::renew`] | half of the time that remains, 10 s at most |
//! | [`Guard::release`] | one try of the release, 5 s |
//! | [`GuardSet::release`] | that for each of its locks |
//! | [`Guard::wait_lost`] and its siblings | its argument |
//! | [`Locker::inspect`], [`Locker::connect`] | the timeouts of the backend |
//! | [`Locker::shutdown`] | its argument and 100 ms |
//! | drop of the last handle | [`LAST_DROP_MAX`] |
//!
//! # In async code
//!
//! A blocking call works inside an async runtime, but it holds up that runtime's thread, as any blocking call
//! does. A runtime with one thread then runs nothing else, not even the task that would release the lock: the
//! call ends when its wait is over. Use the async [`Locker`](crate::Locker) there, or `spawn_blocking`.
//!
//! # Fork
//!
//! Threads do not survive a fork. In the child of a fork, each call of a handle from the parent fails with
//! `Unavailable`, and dropping the handle releases nothing and leaks its memory. The locks stay the parent's,
//! although the child's copy of a guard still has its deadline. A program that makes itself a daemon connects
//! after that.

mod acquire;
mod acquire_all;
mod block_on;
mod builder;
mod guard;
mod guard_set;
mod handle;
mod locker;
mod options;
mod runtime;

pub use self::{
    acquire::{Acquire, TryAcquire},
    acquire_all::AcquireAll,
    builder::LockerBuilder,
    guard::Guard,
    guard_set::GuardSet,
    locker::Locker,
    runtime::LAST_DROP_MAX,
};

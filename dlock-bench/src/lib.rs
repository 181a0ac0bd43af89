//! Measures stores of locks through dlock's own API, as their users see them.
//!
//! All sides of all stores run in turns, in rounds: dlock, the store's driver alone (the floor), the lock that the
//! server offers by itself, and dlock once more. The last one shows how much of a difference is noise.
//!
//! * cycle: an uncontended acquire and release, by one task and by many on names of their own.
//! * new names: the same, each time on a name that was never used before.
//! * hand-over: from the release in one process to the grant in another, on a contended name.
//! * one shot: a process that connects, acquires, releases and closes.
//! * with [`Scope::All`] also steady arrivals, contention of several processes, take-overs and held locks.
//!
//! The result is [`data::Run`]. [`text`] shows it as a table, and [`compare`](compare::compare) judges what changed
//! between two runs.

mod bench;
pub mod compare;
pub mod data;
mod entrants;
mod extras;
mod labels;
pub mod machine;
mod names;
mod plan;
pub mod report;
mod rounds;
mod safety;
mod sides;
mod slot;
mod stats;
mod store;
mod summary;
mod sweep;
mod target;
mod tasks;
pub mod text;
pub mod worker;
mod workloads;

pub use self::{
    bench::{Bench, Progress},
    plan::{Plan, Scope},
    rounds::KeepAwake,
    store::Left,
    target::{Target, WorkerCommand},
    workloads::jain,
};

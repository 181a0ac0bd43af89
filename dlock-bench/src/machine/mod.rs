//! The machine: its description, its load, and the processor time of processes on it.

mod cpu_time;
mod describe;
mod group;
mod listener;
mod load;
mod threads;

pub use self::{
    cpu_time::cpu_time_of,
    describe::{describe, now_utc},
};
pub(crate) use self::{
    cpu_time::own_cpu_time,
    group::scheduling_group,
    listener::server_of,
    load::{Load, LoadParts},
    threads::{Spent, Threads},
};

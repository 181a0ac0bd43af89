//! The data of a run, as `dlock bench --json` prints it: the format `dlock-bench/1`.
//!
//! Times are whole numbers with their unit at the end of the name. Passwords in URLs are masked. A number that was
//! not measured is absent, never zero.

mod latency;
mod machine;
mod read;
mod rounds;
mod run;
mod store;
mod workloads;

pub use self::{
    latency::{Bucket, Interval, Latency},
    machine::{Awake, Badge, Machine, Noise, Settings},
    read::ReadError,
    rounds::{Round, Side, SideKey, Slice, Workload},
    run::{Comparison, FORMAT, Run},
    store::{Ceiling, Cycles, Exchange, Limit, Store, Throughput, UsedOnce},
    workloads::{Contention, HandOver, Held, OneShot, Steady, Takeover},
};
pub(crate) use self::{
    machine::SAME_TWICE,
    read::{ELEMENT_BEGIN, ELEMENT_END},
    run::COUNT_MIN,
};

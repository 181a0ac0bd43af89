//! Chaos: clients in worker processes work under locks while faults strike, and the checker judges their history.
//!
//! A [`Target`] says how its store is reached and how a worker is started. Workers follow seeded
//! programs; each reaches the store through proxies of its own. A [`Plan`] is a shuffled deck of
//! faults with triggers, which are events of the protocol and never times of day. So a seed repeats the plan and the
//! programs, though not the scheduling of the machine.
//!
//! The faults here are those of a client's side: they touch only the workers and their connections. A target adds
//! those of its servers: see [`Fault`].

mod client;
mod exceptions;
mod fault;
mod faults;
mod lag;
mod load;
mod plan;
mod run;
mod target;
mod trigger;
mod verdict;
mod workers;

pub use self::{
    client::{Resources, serve_if_worker},
    fault::{Deal, Evidence, Fault, Site},
    faults::client_side,
    lag::{LAG_MAX, Watchdog},
    load::Load,
    plan::{Card, Kind, Plan, plan, replay},
    run::{Bites, Phase, Run, RunReport, Settled, Struck},
    target::Target,
    trigger::Trigger,
    verdict::{Effect, Exception, Finding, Judgement, Unknown, judge},
    workers::{Counts, Workers},
};

//! One workload of one client in one round, and the processor time that it took.

use std::time::Duration;

use crate::process::{Contended, Cycles, HandOvers};

#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) round: u32,
    pub(crate) done: Done,
    pub(crate) client_cpu: Duration,
    pub(crate) server_cpu: Duration,
}

#[derive(Debug)]
pub(crate) enum Done {
    Cycles {
        tasks: usize,
        cycles: Cycles,
    },
    Once {
        tasks: usize,
        cycles: Cycles,
    },
    Apart(Cycles),
    HandOver(HandOvers),
    Contended(Contended),
    Herd {
        clients: usize,
        hold: Duration,
        contended: Contended,
        /// The requests that the server had.
        tries: u64,
    },
}

pub(super) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

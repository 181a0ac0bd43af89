//! What one client did in one workload of one round, and the processor time that it took.

use std::time::Duration;

use dlock_bench::machine::cpu_time_of;

use super::entrant::Entrant;
use crate::process::{Contended, Cycles, HandOvers, Request};

#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) round: u32,
    pub(crate) done: Done,
    pub(crate) client_cpu: Duration,
    pub(crate) server_cpu: Duration,
}

#[derive(Debug)]
pub(crate) enum Done {
    Cycles { tasks: usize, cycles: Cycles },
    HandOver(HandOvers),
    Contended(Contended),
}

/// Measures a workload; `None` if the client has failed.
pub(super) async fn slice(
    entrant: &mut Entrant,
    server: u32,
    round: u32,
    request: Request,
) -> Option<Slice> {
    let before = [cpu_time_of(entrant.pid()?)?, cpu_time_of(server)?];
    let done = match request {
        Request::Version => return None,
        Request::Cycles { tasks, .. } => Done::Cycles {
            tasks,
            cycles: entrant.request(request).await?,
        },
        Request::HandOver { .. } => Done::HandOver(entrant.request(request).await?),
        Request::Contend { .. } => Done::Contended(entrant.request(request).await?),
    };
    let after = [cpu_time_of(entrant.pid()?)?, cpu_time_of(server)?];
    Some(Slice {
        round,
        done,
        client_cpu: after[0].saturating_sub(before[0]),
        server_cpu: after[1].saturating_sub(before[1]),
    })
}

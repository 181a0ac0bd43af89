//! The measurement of one slice.

use dlock_bench::machine::cpu_time_of;

use super::{
    entrant::Entrant,
    slice::{Done, Slice},
};
use crate::process::Request;

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

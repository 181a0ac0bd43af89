//! The measurement of one slice.

use std::time::Duration;

use dlock_bench::machine::cpu_time_of;

use super::{
    entrant::Entrant,
    slice::{Done, Slice},
};
use crate::{
    process::{Cycles, Request},
    server::Server,
};

/// Cycles before those that count: a client may close connections that have been idle during the slices of others.
const WARM_UP: Duration = Duration::from_millis(100);

/// Measures a workload; `None` if the client has failed.
pub(super) async fn slice(
    entrant: &mut Entrant,
    server: &Server,
    round: u32,
    request: Request,
) -> Option<Slice> {
    if let Request::Cycles { tasks, .. } | Request::Once { tasks, .. } = request {
        let window = WARM_UP;
        let warm_up = Request::Cycles { tasks, window };
        entrant.request::<Cycles>(warm_up).await?;
    }
    let before = [cpu_time_of(entrant.pid()?)?, cpu_time(server)?];
    let done = match request {
        Request::Version => return None,
        Request::Cycles { tasks, .. } => Done::Cycles {
            tasks,
            cycles: entrant.request(request).await?,
        },
        Request::Once { tasks, .. } => Done::Once {
            tasks,
            cycles: entrant.request(request).await?,
        },
        Request::Apart { .. } => Done::Apart(entrant.request(request).await?),
        Request::HandOver { .. } => Done::HandOver(entrant.request(request).await?),
        Request::Contend { .. } => Done::Contended(entrant.request(request).await?),
        Request::Herd { clients, hold, .. } => {
            let tries = entrant.client.tries()?;
            let before = server.calls(tries.command).await.ok()?;
            let contended = entrant.request(request).await?;
            let calls = server.calls(tries.command).await.ok()? - before;
            Done::Herd {
                clients,
                hold,
                contended,
                tries: calls.saturating_sub(tries.by_connect * u64::try_from(clients).ok()?),
            }
        }
    };
    let after = [cpu_time_of(entrant.pid()?)?, cpu_time(server)?];
    Some(Slice {
        round,
        done,
        client_cpu: after[0].saturating_sub(before[0]),
        server_cpu: after[1].saturating_sub(before[1]),
    })
}

/// The processor time of all processes of the server.
fn cpu_time(server: &Server) -> Option<Duration> {
    server.pids().into_iter().map(cpu_time_of).sum()
}

//! Rounds: each client does each workload once, in an order that is rotated.

use std::time::Duration;

use dlock_bench::KeepAwake;

use super::{entrant::Entrant, meter::slice, round_trip::RoundTrip};
use crate::{
    cli::{Cli, Workload},
    failure::Failure,
    process::Request,
    say::{complain, say},
    server::Server,
    store::Family,
};

/// The tasks of the measurements of cycles.
pub(crate) const ONE: usize = 1;
pub(crate) const MANY: usize = 64;

/// The clients that want one name.
const CLIENTS: usize = 16;

/// How long each client of a herd holds it.
const HOLD: [Duration; 2] = [Duration::ZERO, Duration::from_millis(5)];

/// The first round does not count: programs are compiled and connections made in it.
const WARM_UP: u32 = 0;

/// The last round with contention: what a client got in one long window is more than the median of short ones.
const CONTENTION_ROUNDS: u32 = 3;

/// Runs all rounds. A client that fails leaves them.
pub(super) async fn rounds(
    cli: &Cli,
    family: Family,
    server: &Server,
    awake: &mut KeepAwake,
    round_trip: &mut RoundTrip,
    entrants: &mut [Entrant],
) -> Result<(), Failure> {
    for round in WARM_UP..=cli.rounds {
        for request in requests(cli, family, round) {
            for place in 0..entrants.len() {
                let at = (place + round as usize) % entrants.len();
                let entrant = &mut entrants[at];
                if entrant.missing().is_some() || !takes_part(entrant, request) {
                    continue;
                }
                awake.set(is_latency(request)).await;
                let done = slice(entrant, server, round, request).await;
                if let Some(why) = entrant.missing() {
                    complain(&format!("{} failed: {why}", entrant.client.name));
                }
                if round != WARM_UP {
                    entrant.slices.extend(done);
                }
            }
        }
        if round != WARM_UP {
            awake.set(true).await;
            round_trip.measure(round).await?;
        }
        say(&format!("  round {round} of {}", cli.rounds));
    }
    Ok(())
}

/// The requests of a round.
fn requests(cli: &Cli, family: Family, round: u32) -> Vec<Request> {
    let chosen = |workload| cli.workloads.is_empty() || cli.workloads.contains(&workload);
    let all = [
        Workload::Cycles,
        Workload::Once,
        Workload::Apart,
        Workload::HandOver,
        Workload::Contention,
        Workload::Herd,
    ];
    let all = all.into_iter().filter(|workload| chosen(*workload));
    all.flat_map(|workload| requests_of(workload, family, cli, round))
        .collect()
}

/// A hand-over takes longer with a client that polls, and shares need many grants.
fn requests_of(workload: Workload, family: Family, cli: &Cli, round: u32) -> Vec<Request> {
    let window = cli.seconds;
    let contention = match round {
        WARM_UP => window,
        _ => cli.contention,
    };
    match workload {
        Workload::Cycles => [ONE, MANY]
            .map(|tasks| Request::Cycles { tasks, window })
            .into(),
        Workload::Once => [ONE, MANY]
            .map(|tasks| Request::Once { tasks, window })
            .into(),
        // The others have as many connections as tasks, or one for all.
        Workload::Apart if family != Family::Redis => Vec::new(),
        Workload::Apart => vec![Request::Apart {
            tasks: MANY,
            window,
        }],
        Workload::HandOver => vec![Request::HandOver { window: window * 2 }],
        Workload::Contention | Workload::Herd if round > CONTENTION_ROUNDS => Vec::new(),
        Workload::Contention => vec![Request::Contend {
            clients: CLIENTS,
            window: contention,
        }],
        // The others do not count their commands.
        Workload::Herd if family != Family::Redis => Vec::new(),
        Workload::Herd => {
            let of = |&clients| {
                HOLD.map(|hold| Request::Herd {
                    clients,
                    hold,
                    window: contention,
                })
            };
            cli.herd.iter().flat_map(of).collect()
        }
    }
}

/// Whether client and server have one request at a time and sleep in turns, so that a core's time to wake up would be
/// measured.
fn is_latency(request: Request) -> bool {
    match request {
        Request::Cycles { tasks, .. } | Request::Once { tasks, .. } => tasks == ONE,
        Request::Version | Request::Apart { .. } => false,
        Request::HandOver { .. } | Request::Contend { .. } | Request::Herd { .. } => true,
    }
}

fn takes_part(entrant: &Entrant, request: Request) -> bool {
    let client = &entrant.client;
    match request {
        Request::Version | Request::Cycles { .. } => true,
        Request::Once { .. } | Request::Apart { .. } => client.is_rust(),
        Request::HandOver { .. } | Request::Contend { .. } => client.waits,
        Request::Herd { .. } => client.tries().is_some() && !entrant.again,
    }
}

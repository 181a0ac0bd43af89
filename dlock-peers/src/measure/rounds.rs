//! Rounds: each client does each workload once, in an order that is rotated.

use std::time::Duration;

use super::{entrant::Entrant, meter::slice};
use crate::{
    cli::Cli,
    process::Request,
    say::{complain, say},
};

/// The tasks of the two measurements of cycles.
pub(crate) const ONE: usize = 1;
pub(crate) const MANY: usize = 64;

/// The clients that want one name.
const CLIENTS: usize = 16;

/// The first round does not count: programs are compiled and connections made in it.
const WARM_UP: u32 = 0;

/// Runs all rounds. A client that fails leaves them.
///
/// `server` is the process whose processor time is counted.
pub(super) async fn rounds(cli: &Cli, server: u32, entrants: &mut [Entrant]) {
    for round in WARM_UP..=cli.rounds {
        for request in workloads(cli.seconds) {
            for place in 0..entrants.len() {
                let at = (place + round as usize) % entrants.len();
                let entrant = &mut entrants[at];
                if entrant.missing().is_some() || !takes_part(entrant, request) {
                    continue;
                }
                let done = slice(entrant, server, round, request).await;
                if let Some(why) = entrant.missing() {
                    complain(&format!("{} failed: {why}", entrant.client.name));
                }
                if round != WARM_UP {
                    entrant.slices.extend(done);
                }
            }
        }
        say(&format!("  round {round} of {}", cli.rounds));
    }
}

/// A hand-over takes longer with a client that polls, and shares need many grants.
fn workloads(window: Duration) -> [Request; 4] {
    [
        Request::Cycles { tasks: ONE, window },
        Request::Cycles {
            tasks: MANY,
            window,
        },
        Request::HandOver { window: window * 2 },
        Request::Contend {
            clients: CLIENTS,
            window: window * 3,
        },
    ]
}

fn takes_part(entrant: &Entrant, request: Request) -> bool {
    entrant.client.waits || matches!(request, Request::Cycles { .. })
}

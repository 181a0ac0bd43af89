//! The load of a verification, by the server's own counters.

use std::time::Duration;

use dlock::{BootInstant, Clock};
use dlock_verify::{
    ensure,
    support::Outcome,
    verdict::{Limits, StoreVerdict},
};

use crate::support::{self, Ran, verify};

/// How often the counters are read: the promise is one for each second.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Counts of a server. The requests and connections of the test are among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// Requests of clients since its start.
    pub(crate) requests: f64,
    /// Connections of clients now.
    pub(crate) connections: u32,
}

/// Counts, and the time in which the server read them.
#[derive(Clone, Copy, Debug)]
struct Sample {
    begun: BootInstant,
    answered: BootInstant,
    counted: Counters,
}

/// As [`support::holds`]; and in all that time the server had no more than the promised load.
pub(crate) async fn holds(
    url: &str,
    accepted: &[&str],
    counters: impl AsyncFn() -> Outcome<Counters>,
) -> Outcome<StoreVerdict> {
    let clock = Clock::boottime();
    // The share of the test, which is the same each time.
    let before = counters().await?;
    let begun = clock.now();
    let idle = counters().await?;
    let own = idle.requests - before.requests;
    let mut samples = vec![Sample {
        begun,
        answered: clock.now(),
        counted: idle,
    }];
    let running = verify(&support::arguments(url, accepted))?;
    let mut output = std::pin::pin!(running.wait_with_output());
    let ran = loop {
        tokio::select! {
            output = &mut output => break Ran::of(output?)?,
            () = tokio::time::sleep(SAMPLE_EVERY) => {}
        }
        let begun = clock.now();
        let counted = counters().await?;
        samples.push(Sample {
            begun,
            answered: clock.now(),
            counted,
        });
    };
    let store = support::held(&ran)?;
    let connections = samples.iter().map(|sample| sample.counted.connections);
    let connections = connections.max().unwrap_or(0) - idle.connections;
    let rate = |pair: &[Sample]| {
        let (before, after) = (pair[0], pair[1]);
        let requests = after.counted.requests - before.counted.requests - own;
        // The longest time that may lie between the two counts: a test that is late itself proves nothing.
        requests / after.answered.since(before.begun).as_secs_f64()
    };
    let most = samples.windows(2).map(rate).fold(0.0, f64::max);
    let load = format!("{connections} connections, {most:.0} requests a second");
    let allowed = Limits::new(200, 24);
    ensure!(store.limits == allowed, "{:?}", store.limits);
    ensure!(connections <= 24 && most <= 200.0, "{load}");
    // The test would see nothing if it counted wrongly.
    ensure!(connections > 2 && most > 10.0, "{load}");
    Ok(store)
}

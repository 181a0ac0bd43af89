//! The clocks and processors of this machine between two moments.

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use dlock_core::{Clock, Result, config::Config};
use tokio::task::JoinSet;

use super::{
    checks,
    cpu::{Ticks, judge_pressure},
    limits::judge_descriptors,
};
use crate::probe::{
    clock::{Rate, Sample, ServerClock, sample},
    finding::Severity,
    report::{Assumption, Report},
    stores,
};

/// The rate by which clocks may differ (K2), in parts per million.
const RATE_MAX_PPM: f64 = 10_000.0;

/// How often the server's clock is read between the two: servers close idle connections, after a second at the least.
const READ_EVERY: Duration = Duration::from_millis(500);

/// Compares the clocks of this machine and of a server from [`begin`](Self::begin) to each
/// [`end`](Self::end), and watches the processors.
///
/// The longer the time between, the more exact is the rate: over a minute to a few parts per million.
pub struct Watch {
    clock: Clock,
    /// The server's clock and its first reading, or why it has none.
    server: Result<(Arc<dyn ServerClock>, Sample), String>,
    /// Keeps the connection open, until this is dropped.
    _reading: JoinSet<Infallible>,
    ticks: Option<Ticks>,
}

impl Watch {
    /// Connects to the store that `config` names, and reads the clocks for the first time.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a URL that dlock refuses, `Unavailable` and others if the server does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn begin(config: &Config) -> Result<Self> {
        let clock = Clock::boottime();
        let server = match stores::clock(config).await? {
            // A refusal is not the end of a probe.
            Ok(server) => match sample(&clock, || server.micros()).await {
                Ok(first) => Ok((Arc::<dyn ServerClock>::from(server), first)),
                Err(error) => Err(error.to_string()),
            },
            Err(why) => Err(why.to_owned()),
        };
        let mut reading = JoinSet::new();
        if let Ok((server, _)) = &server {
            reading.spawn(keep_open(server.clone()));
        }
        Ok(Self {
            clock,
            server,
            _reading: reading,
            ticks: Ticks::now(),
        })
    }

    /// Reads the clocks again, and judges the time since the beginning. May be called several times.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn end(&self) -> Report {
        let mut report = Report::default();
        match &self.server {
            Ok((server, first)) => match sample(&self.clock, || server.micros()).await {
                Ok(last) => match last.rate_since(first) {
                    Some(rate) => judge_rate(rate, &mut report),
                    None => unknown_rate("no time has passed", &mut report),
                },
                Err(error) => unknown_rate(&error.to_string(), &mut report),
            },
            // No right makes it readable: the assumption is reported as not measured.
            Err(_) => assume(None, &mut report),
        }
        match (self.ticks, Ticks::now()) {
            (Some(first), Some(last)) => last.judge_since(first, &mut report),
            _ => report.no_answer(
                &checks::STEAL,
                "the system does not count it",
                "Linux with /proc",
            ),
        }
        judge_pressure(&mut report);
        judge_descriptors(&mut report);
        report
    }
}

async fn keep_open(server: Arc<dyn ServerClock>) -> Infallible {
    loop {
        tokio::time::sleep(READ_EVERY).await;
        // The last reading says what is wrong.
        let _ = server.micros().await;
    }
}

fn judge_rate(rate: Rate, report: &mut Report) {
    let Rate {
        ppm,
        error_ppm,
        over,
    } = rate;
    let found = format!(
        "{ppm:+.0} ppm (± {error_ppm:.0}) over {:.1} s",
        over.as_secs_f64()
    );
    let finding = (ppm.abs() - error_ppm > RATE_MAX_PPM)
        .then(|| checks::CLOCK_RATE.finds(Severity::Danger, &found, "at most 10000 ppm"));
    report.note(&checks::CLOCK_RATE, finding);
    assume(Some(found), report);
}

fn unknown_rate(why: &str, report: &mut Report) {
    report.no_answer(&checks::CLOCK_RATE, why, "compare the clocks by NTP");
    assume(None, report);
}

fn assume(measured: Option<String>, report: &mut Report) {
    report.assumptions.push(Assumption {
        clause: "K2",
        what: "the clocks of this machine and of the server run at the same rate",
        measured,
        allowed: "1 %, which is 10000 ppm",
    });
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

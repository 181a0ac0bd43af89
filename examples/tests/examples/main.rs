//! Runs the examples, and checks `docs/observability` against the metrics that dlock records.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod http;
mod moving;
mod observability;
mod recorded;
mod store;
mod test_axum;
mod test_prometheus;
mod test_sqlx;
mod test_tonic;

#[path = "../../src/bin/with_axum.rs"]
#[expect(dead_code, reason = "its main function")]
mod with_axum;
#[path = "../../src/bin/with_prometheus.rs"]
#[expect(dead_code, reason = "its main function")]
mod with_prometheus;
#[path = "../../src/bin/with_sqlx.rs"]
#[expect(dead_code, reason = "its main function")]
mod with_sqlx;
#[path = "../../src/bin/with_tonic.rs"]
#[expect(dead_code, reason = "its main function")]
mod with_tonic;

use std::{future::Future, process::ExitCode, time::Duration};

use dlock_servers::mysql::Flavour;
use dlock_verify::support::{self, Outcome, if_available};
use libtest_mimic::Trial;

/// Waits of the examples are 2 s.
const THREADS: usize = 4;

/// The bound of a case: one that hangs is named by its failure.
const CASE_MAX: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let database = Flavour::MariaDbStable;
    let trials = [
        trial("axum_codes", test_axum::codes),
        trial("axum_graceful_shutdown", test_axum::graceful_shutdown),
        trial("axum_client_that_is_gone", test_axum::client_that_is_gone),
        trial("tonic_codes", test_tonic::codes),
        trial("tonic_graceful_shutdown", test_tonic::graceful_shutdown),
        trial("prometheus", test_prometheus::every_series_is_served),
        trial("observability_names", observability::names),
        trial("observability_dashboard", observability::dashboard),
        observability::if_installed(trial("observability_promtool", observability::promtool)),
    ];
    let sql = vec![trial("sqlx", test_sqlx::a_late_write_is_refused)];
    let sql = if_available(database.name(), database.find(), sql);
    let moving_trials = vec![trial("moving", moving::tokens_go_on_growing)];
    let moving_trials = if_available("redis and etcd", moving::programs(), moving_trials);
    support::main(THREADS, trials.into_iter().chain(sql).chain(moving_trials))
}

fn trial<F>(name: &str, case: impl FnOnce() -> F + Send + 'static) -> Trial
where
    F: Future<Output = Outcome>,
{
    Trial::test(name, move || support::run(CASE_MAX, case()))
}

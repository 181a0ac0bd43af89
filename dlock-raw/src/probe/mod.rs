//! The settings of a store, read by its driver alone: also where dlock refuses to connect.
//!
//! A probe changes nothing. It sends at most [`REQUESTS_MAX`] requests over a few connections, one after another, and
//! each has a timeout.

mod client;
mod clock;
#[cfg(any(feature = "etcd", feature = "mysql", feature = "redis"))]
mod count;
#[cfg(feature = "etcd")]
mod etcd;
mod file;
mod finding;
mod foreign;
#[cfg(feature = "mysql")]
mod mysql;
mod nested;
#[cfg(feature = "redis")]
mod redis;
mod report;
mod stores;
#[cfg(any(feature = "redis", feature = "zk"))]
mod ttl;
#[cfg(feature = "zk")]
mod zk;

use std::time::Duration;

use dlock_core::{Result, config::Config};
use tokio::time::{sleep, timeout};

pub use self::{
    client::Watch,
    finding::{Check, Finding, Severity},
    report::{About, Assumption, Evictions, Report, Unknown},
};

/// The bound of the requests of a probe, of all servers together.
pub const REQUESTS_MAX: u32 = 200;

/// The bound of the time of a probe.
pub const PROBE_MAX: Duration = Duration::from_secs(60);

/// How long the clocks are compared at least.
const WATCH_MIN: Duration = Duration::from_secs(1);

/// Reads the settings of the store that `config` names, and what this machine adds to them. Takes a second or more.
///
/// Of a store with a scheme of another project it knows this machine alone, and a finding says so.
///
/// # Errors
///
/// `InvalidConfig` for a URL that dlock refuses, `Unavailable` and others if no server answers, also within
/// [`PROBE_MAX`]. Of a store that is made of others, if none of these answers; a finding names each that does not. A
/// refusal of a single request is no error: it is in [`Report::unknown`].
///
/// # Cancel safety
///
/// Dropping the future closes its connections. Nothing is left in the store.
pub async fn probe(config: &Config) -> Result<Report> {
    let probing = async {
        let watch = Watch::begin(config).await?;
        let (report, ()) = tokio::join!(stores::probe(config), sleep(WATCH_MIN));
        let mut report = report?;
        report.add(watch.end().await);
        report.sort();
        Ok(report)
    };
    match timeout(PROBE_MAX, Box::pin(probing)).await {
        Ok(report) => report,
        Err(_) => {
            let why = format!("the servers have not answered all requests within {PROBE_MAX:?}");
            Err(dlock_core::Error::new(
                dlock_core::ErrorKind::Unavailable,
                why,
            ))
        }
    }
}

/// All checks of the stores that are built in, by their ids.
#[must_use]
pub fn checks() -> Vec<Check> {
    let all: &[&[Check]] = &[
        client::checks::ALL,
        file::checks::ALL,
        foreign::ALL,
        nested::ALL,
        #[cfg(feature = "etcd")]
        etcd::checks::ALL,
        #[cfg(feature = "mysql")]
        mysql::checks::ALL,
        #[cfg(feature = "redis")]
        redis::checks::ALL,
        #[cfg(feature = "zk")]
        zk::checks::ALL,
    ];
    all.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of the settings.
    const README: &str = include_str!("../../README.md");

    #[test]
    fn each_check_has_its_row_in_the_readme_and_an_id_of_its_own() {
        let all = checks();
        for check in &all {
            let advice = check.advice.replace('|', "\\|");
            let row = format!(
                "| `{}` | {} | {} | {advice} |",
                check.id, check.setting, check.effect
            );
            assert!(README.contains(&row), "{row}");
            let same = all.iter().filter(|other| other.id == check.id);
            assert_eq!(same.count(), 1, "{}", check.id);
        }
    }

    #[test]
    fn exceptions_are_those_of_the_contract() {
        let contract = include_str!("../../../docs/contract.md");
        for check in checks() {
            if let Some(exception) = check.exception {
                assert!(
                    contract.contains(&format!("| `{exception}` |")),
                    "{exception}"
                );
            } else {
                // Else the id would be that of an exception.
                assert!(
                    !contract.contains(&format!("| `{}` |", check.id)),
                    "{}",
                    check.id
                );
            }
        }
    }
}

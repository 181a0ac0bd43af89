//! The clocks of servers that may follow each other as primary.

use dlock_core::Clock;
use redis::RedisResult;

use super::{
    checks,
    facts::{self, Facts},
    info::Info,
};
use crate::{
    driver::redis::{Address, Servers},
    probe::{
        clock::{Sample, sample},
        finding::Severity,
        report::Report,
    },
};

/// The replicas whose clocks are read.
const REPLICAS_MAX: usize = 4;

/// Clocks that are further apart are not kept by an NTP service.
const APART_MAX_S: f64 = 1.0;

/// Compares the clocks of the replicas with that of their primary.
pub(super) async fn probe_replicas(
    servers: &Servers,
    facts: &Facts,
    info: &Info,
    report: &mut Report,
) {
    let own = match &facts.time {
        Ok(own) => own,
        Err(refusal) => return refusal.note(&checks::CLOCKS, report),
    };
    let mut samples = vec![(String::new(), *own)];
    for replica in info.replicas().iter().take(REPLICAS_MAX) {
        let (Some(host), Some(port)) = (replica.get("ip"), replica.get("port")) else {
            continue;
        };
        let address = ((*host).to_owned(), port.parse().unwrap_or(0));
        match read(servers, &address).await {
            Ok(sample) => samples.push((format!("{host}:{port}"), sample)),
            Err(error) => {
                let grant = match error.code() {
                    Some("NOAUTH" | "WRONGPASS") => "the login of the URL at the replicas, too",
                    Some("NOPERM") => "the right to TIME at the replicas, too",
                    _ => "a way from this machine to the replicas",
                };
                report.no_answer(
                    &checks::CLOCKS,
                    format_args!("{host}:{port}: {error}"),
                    grant,
                );
            }
        }
    }
    judge(&samples, report);
}

/// Compares clocks, each with its server.
pub(super) fn judge(samples: &[(String, Sample)], report: &mut Report) {
    let [(_, first), others @ ..] = samples else {
        return;
    };
    let apart = |sample: &Sample| sample.ahead_s() - first.ahead_s();
    let most = others
        .iter()
        .map(|(server, sample)| (server, apart(sample)))
        .max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let finding = most
        .filter(|(_, apart)| apart.abs() > APART_MAX_S)
        .map(|(server, apart)| {
            let found = format!("{server} is {apart:+.1} s ahead");
            checks::CLOCKS.finds(Severity::Warning, found, "at most 1 s apart")
        });
    report.note(&checks::CLOCKS, finding);
}

async fn read(servers: &Servers, address: &Address) -> RedisResult<Sample> {
    let connection = servers.connect(address).await?;
    sample(&Clock::boottime(), || facts::time(&connection)).await
}

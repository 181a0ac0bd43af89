//! A write shows whether it is flushed to the disk, and the election timeout.
//!
//! The write is a lease without keys, which is revoked at once.

use std::time::Duration;

use etcd_client::Error as DriverError;
use tokio::time::sleep;

use super::{checks, member::Member, refusal};
use crate::{
    driver::etcd::Members,
    probe::{finding::Severity, report::Report},
};

/// The shortest lease: the cluster makes it longer than its election timeout.
const TTL_S: i64 = 1;

/// How often, and how many times, a member is read until it has flushed the write.
const FLUSH_EVERY: Duration = Duration::from_millis(100);
const FLUSH_READS_MAX: u32 = 10;

/// Grants and revokes a lease, and judges what happened.
pub(super) async fn probe(
    members: &Members,
    found: &[Member],
    election_timeout: Duration,
    report: &mut Report,
) {
    let mut before = Vec::new();
    for member in found {
        before.push(member.flushes(members).await);
    }
    match grant_and_revoke(&found[0]).await {
        Ok(given) => judge_election_timeout(given, election_timeout, report),
        // A full cluster refuses it, but writes the refusal.
        Err(error) => {
            refusal::note(
                &checks::ELECTION_TIMEOUT,
                &error,
                members.user.as_deref(),
                report,
            );
        }
    }
    for (member, before) in found.iter().zip(before) {
        judge_flushes(members, member, before, report).await;
    }
}

/// The lease's ttl as granted, in seconds.
async fn grant_and_revoke(member: &Member) -> Result<i64, DriverError> {
    let mut leases = member.client.lease_client();
    let lease = leases.grant(TTL_S, None).await?;
    // It expires by itself otherwise.
    let _ = leases.revoke(lease.id()).await;
    Ok(lease.ttl())
}

/// A lease is at least one and a half election timeouts, rounded up to seconds.
fn judge_election_timeout(given: i64, election_timeout: Duration, report: &mut Report) {
    let least = (election_timeout * 3 / 2).as_secs_f64().ceil().max(1.0);
    let given = u32::try_from(given).unwrap_or(0);
    let finding = (f64::from(given) > least).then(|| {
        let advice = format!(
            "election_timeout={:.0}ms in the URL",
            f64::from(given) / 1.5 * 1e3
        );
        let found = format!("the shortest lease is {given} s");
        let wanted = format!("at most {least} s, by election_timeout={election_timeout:?}");
        checks::ELECTION_TIMEOUT
            .finds(Severity::Warning, found, wanted)
            .advice(advice)
    });
    report.note(&checks::ELECTION_TIMEOUT, finding);
}

/// Waits until a member has flushed the write, which it does before it confirms it.
async fn judge_flushes(
    members: &Members,
    member: &Member,
    before: std::io::Result<f64>,
    report: &mut Report,
) {
    let before = match before {
        Ok(before) => before,
        Err(error) => return Member::no_metrics(&checks::NO_FSYNC, &error, report),
    };
    for _ in 0..FLUSH_READS_MAX {
        match member.flushes(members).await {
            Ok(now) if now > before => return report.note(&checks::NO_FSYNC, None),
            Ok(_) => sleep(FLUSH_EVERY).await,
            Err(error) => return Member::no_metrics(&checks::NO_FSYNC, &error, report),
        }
    }
    let found = format!("{}no flush after a write", member.label);
    let finding = checks::NO_FSYNC.finds(Severity::Danger, found, "a flush for each write");
    report.note(&checks::NO_FSYNC, Some(finding));
}

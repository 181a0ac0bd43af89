//! etcd: each member that can be reached, and the cluster.

pub(super) mod checks;
mod cluster;
mod member;
mod metrics;
mod refusal;
mod version;
mod writes;

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Config, Settings},
};

use self::member::{MEMBERS_MAX, Member};
use super::report::Report;
use crate::driver::etcd::Members;

/// dlock-etcd's own default and bounds.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);
const ELECTION_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(50);

/// Reads the state of the members of a URL, and of the others that they name.
pub(super) async fn probe(config: &Config) -> Result<Report> {
    let mut settings = Settings::of(config)?;
    let members = Members::take(&mut settings)?;
    let election_timeout = settings.take_duration("election_timeout", ELECTION_TIMEOUTS)?;
    let mut report = Report::default();
    let (mut found, mut silent) = connect(&members).await?;
    let listed = cluster::read(&found[0], members.user.as_deref(), &mut report).await;
    if let Some(listed) = &listed {
        cluster::reach_others(&members, listed, &mut found, &mut silent).await;
        cluster::judge(listed, &found, &mut report);
    }
    cluster::judge_silent(&silent, &mut report);
    for member in &found {
        member.judge(members.user.as_deref(), &mut report);
        let (host, port) = &member.address;
        report.about.servers.push(format!("{host}:{port}"));
    }
    cluster::read_alarms(&found[0], members.user.as_deref(), &mut report).await;
    let election_timeout = election_timeout.unwrap_or(ELECTION_TIMEOUT);
    writes::probe(&members, &found, election_timeout, &mut report).await;
    let versions = found.iter().map(Member::version);
    let oldest = versions.min_by_key(|version| version::parse(version));
    "etcd".clone_into(&mut report.about.product);
    report.about.version = oldest.unwrap_or_default();
    Ok(report)
}

/// The members of the URL that answer, one at least, and the others with their reasons.
async fn connect(members: &Members) -> Result<(Vec<Member>, Vec<String>)> {
    let (mut found, mut silent) = (Vec::new(), Vec::new());
    let mut failure = Error::new(ErrorKind::Unavailable, "no member answered");
    for address in members.addresses.iter().take(MEMBERS_MAX) {
        let (host, port) = address;
        match Member::read(members, address, format!("{host}:{port}: ")).await {
            Ok(member) => found.push(member),
            Err(error) => {
                silent.push(format!("{host}:{port}"));
                failure = error;
            }
        }
    }
    if found.is_empty() {
        return Err(failure);
    }
    Ok((found, silent))
}

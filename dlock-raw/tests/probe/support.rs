//! Shared parts of the cases: a flavour of any store, and what a report must have.

use std::{future::Future, time::Duration};

use dlock::config::Config;
use dlock_raw::probe::{Finding, Report, Severity, Unknown, probe};
use dlock_servers::{Program, etcd, mysql, redis, zk};
use dlock_verify::support;

pub(crate) use dlock_verify::{
    cases,
    support::{Outcome, refused, until},
};

/// The bound of a case: one that hangs is named by its failure.
const CASE_MAX: Duration = Duration::from_secs(120);

/// A server of any store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flavour {
    Etcd(etcd::Flavour),
    /// A directory, without a server.
    Files,
    MySql(mysql::Flavour),
    Redis(redis::Flavour),
    Zk(zk::Flavour),
}

impl Flavour {
    pub(crate) fn all() -> Vec<Self> {
        let redis = redis::Flavour::ALL.into_iter().map(Self::Redis);
        let etcd = etcd::Flavour::ALL.into_iter().map(Self::Etcd);
        let zk = zk::Flavour::ALL.into_iter().map(Self::Zk);
        let mysql = mysql::Flavour::ALL.into_iter().map(Self::MySql);
        redis.chain(etcd).chain(zk).chain(mysql).collect()
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Etcd(flavour) => flavour.name().to_owned(),
            Self::Files => "file".to_owned(),
            Self::MySql(flavour) => flavour.name().to_owned(),
            Self::Redis(flavour) => flavour.name().to_owned(),
            Self::Zk(flavour) => flavour.name().to_owned(),
        }
    }

    /// Why it cannot be tested here, if so.
    pub(crate) fn find(self) -> Result<(), String> {
        match self {
            Self::Etcd(flavour) => flavour.find().map(drop),
            Self::Files => Ok(()),
            Self::MySql(flavour) => flavour.find().map(drop),
            Self::Redis(flavour) => flavour.find().map(drop),
            Self::Zk(flavour) => flavour.find().map(drop),
        }
    }

    /// The program of a Redis.
    pub(crate) fn redis(self) -> Outcome<Program> {
        match self {
            Self::Redis(flavour) => Ok(flavour.find()?),
            other => Err(format!("not Redis: {other:?}").into()),
        }
    }

    /// A version of ZooKeeper.
    pub(crate) fn zk(self) -> Outcome<zk::Flavour> {
        match self {
            Self::Zk(flavour) => Ok(flavour),
            other => Err(format!("not ZooKeeper: {other:?}").into()),
        }
    }

    /// MySQL or MariaDB.
    pub(crate) fn mysql(self) -> Outcome<mysql::Flavour> {
        match self {
            Self::MySql(flavour) => Ok(flavour),
            other => Err(format!("not MySQL: {other:?}").into()),
        }
    }

    /// A version of etcd.
    pub(crate) fn etcd(self) -> Outcome<etcd::Flavour> {
        match self {
            Self::Etcd(flavour) => Ok(flavour),
            other => Err(format!("not etcd: {other:?}").into()),
        }
    }
}

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Flavour) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    support::run(CASE_MAX, case(flavour))
}

/// The report of the servers at `url`.
pub(crate) async fn report_of(url: impl AsRef<str>) -> Outcome<Report> {
    Ok(probe(&Config::from_url(url.as_ref())?).await?)
}

/// The finding with this id and severity.
pub(crate) fn finding<'a>(
    report: &'a Report,
    severity: Severity,
    id: &str,
) -> Outcome<&'a Finding> {
    let found = report.findings.iter().find(|finding| finding.id == id);
    let found = found.ok_or_else(|| format!("no finding {id}: {report:#?}"))?;
    if found.severity != severity {
        return Err(format!("not a {severity}: {found:#?}").into());
    }
    assert!(
        !found.found.is_empty() && !found.wanted.is_empty(),
        "{found:?}"
    );
    Ok(found)
}

/// Checks that these had an answer, and are as they should be.
pub(crate) fn assert_fine(report: &Report, ids: &[&str]) {
    for id in ids {
        assert!(
            report.checked.contains(id),
            "{id} has no answer: {report:#?}"
        );
        let found = report.findings.iter().find(|finding| finding.id == *id);
        assert!(found.is_none(), "{found:#?}");
    }
}

/// Checks that nothing of the server needs to be mended, and that all was read.
pub(crate) fn assert_healthy(report: &Report) {
    // This machine may be busy, or a virtual one of many.
    let of_server = |id: &str| !id.starts_with("client.");
    let found = report
        .findings
        .iter()
        .filter(|finding| of_server(finding.id));
    let grave: Vec<_> = found
        .filter(|finding| finding.severity > Severity::Covered)
        .collect();
    assert!(grave.is_empty(), "{grave:#?}");
    let unknown: Vec<_> = report
        .unknown
        .iter()
        .filter(|unknown| of_server(unknown.id))
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The unknown with this id.
pub(crate) fn unknown<'a>(report: &'a Report, id: &str) -> Outcome<&'a Unknown> {
    let found = report.unknown.iter().find(|unknown| unknown.id == id);
    found.ok_or_else(|| format!("{id} is known: {report:#?}").into())
}

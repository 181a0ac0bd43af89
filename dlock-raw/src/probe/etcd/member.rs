//! One member: its state, and its metrics.

use std::{io, time::Duration};

use dlock_core::{Clock, Result};
use etcd_client::{Client, Error as DriverError, StatusResponse};

use super::{checks, metrics::Metrics, refusal, version};
use crate::{
    driver::{
        etcd::{Address, Members, failed, is_denied},
        http,
    },
    probe::{finding::Severity, report::Report},
};

/// The members that are connected to: a cluster rarely has more than seven.
pub(super) const MEMBERS_MAX: usize = 9;

/// The page of the metrics.
const METRICS: &str = "/metrics";

/// Where the metrics are, for those that cannot be read.
const METRICS_GRANT: &str = "a way from this machine to /metrics of each member";

/// The bounds of a disk that is fast enough, by etcd's own documentation, for 99 % of the writes.
const FSYNC_MAX: Duration = Duration::from_millis(10);
const COMMIT_MAX: Duration = Duration::from_millis(25);
const PERCENTILE: f64 = 0.99;

/// Fewer writes have no such percentile.
const WRITES_MIN: f64 = 100.0;

/// The part of the quota from which space is short.
const QUOTA_PART: f64 = 0.8;

/// The changes of the leader in an hour that are normal.
const CHANGES_MAX: f64 = 3.0;

/// The writes that a member may be behind.
const LAG_MAX: u64 = 1_000;

/// A member, and what it reports.
pub(super) struct Member {
    /// The address, if there are several.
    pub(super) label: String,
    pub(super) address: Address,
    pub(super) client: Client,
    /// The state, which newer versions show to the user `root` only.
    pub(super) status: Result<StatusResponse, DriverError>,
    pub(super) metrics: io::Result<Metrics>,
}

impl Member {
    /// Connects to it, and reads its state.
    pub(super) async fn read(members: &Members, address: &Address, label: String) -> Result<Self> {
        let client = members.connect(address).await?;
        let status = match client.maintenance_client().status().await {
            Err(error) if !is_denied(&error) => return Err(failed(error)),
            status => status,
        };
        Ok(Self {
            label,
            address: address.clone(),
            client,
            status,
            metrics: read_metrics(members, address).await,
        })
    }

    /// The id in the cluster; `None` if it shows no state.
    pub(super) fn id(&self) -> Option<u64> {
        Some(self.status.as_ref().ok()?.header()?.member_id())
    }

    /// The version; empty if it shows neither state nor metrics.
    pub(super) fn version(&self) -> String {
        match (&self.status, &self.metrics) {
            (Ok(status), _) => status.version().to_owned(),
            (_, Ok(metrics)) => metrics.label("etcd_server_version", "server_version"),
            _ => String::new(),
        }
    }

    /// Judges this member by itself.
    pub(super) fn judge(&self, user: Option<&str>, report: &mut Report) {
        version::judge(&self.label, &self.version(), report);
        match &self.status {
            Ok(status) => self.judge_status(status, report),
            Err(error) => {
                for check in [checks::NO_LEADER, checks::LAG] {
                    refusal::note(&check, error, user, report);
                }
            }
        }
        self.judge_metrics(report);
    }

    fn judge_status(&self, status: &StatusResponse, report: &mut Report) {
        let leaderless = (status.leader() == 0).then(|| {
            let found = format!("{}no leader", self.label);
            checks::NO_LEADER.finds(Severity::Danger, found, "a leader")
        });
        report.note(&checks::NO_LEADER, leaderless);
        let behind = status
            .raft_index()
            .saturating_sub(status.raft_applied_index());
        let lag = (behind > LAG_MAX).then(|| {
            let found = format!("{}{behind} writes behind", self.label);
            checks::LAG.finds(Severity::Warning, found, format_args!("at most {LAG_MAX}"))
        });
        report.note(&checks::LAG, lag);
    }

    fn judge_metrics(&self, report: &mut Report) {
        let metrics = match &self.metrics {
            Ok(metrics) => metrics,
            Err(error) => {
                for check in [checks::QUOTA, checks::SLOW_DISK, checks::LEADER_CHANGES] {
                    let why = format!("{}{error}", self.label);
                    report.no_answer(&check, why, METRICS_GRANT);
                }
                return;
            }
        };
        self.judge_quota(metrics, report);
        let slow = [
            (
                "etcd_disk_wal_fsync_duration_seconds",
                "wal_fsync",
                FSYNC_MAX,
            ),
            (
                "etcd_disk_backend_commit_duration_seconds",
                "backend_commit",
                COMMIT_MAX,
            ),
        ];
        let slow = slow.into_iter().find_map(|(name, short, allowed)| {
            let found = metrics.percentile(name, PERCENTILE, WRITES_MIN)?;
            (found > allowed).then(|| {
                let found = format!("{}{short}: {found:.1?} (p99)", self.label);
                let wanted = format!("{short}: at most {allowed:?}");
                checks::SLOW_DISK.finds(Severity::Warning, found, wanted)
            })
        });
        report.note(&checks::SLOW_DISK, slow);
        self.judge_changes(metrics, report);
    }

    fn judge_quota(&self, metrics: &Metrics, report: &mut Report) {
        let number = |name| metrics.number(name).unwrap_or(0.0);
        let quota = number("etcd_server_quota_backend_bytes");
        let used = number("etcd_mvcc_db_total_size_in_bytes");
        let full = (quota > 0.0 && used / quota > QUOTA_PART).then(|| {
            let found = format!(
                "{}{:.0} % of {quota} bytes",
                self.label,
                used / quota * 100.0
            );
            checks::QUOTA.finds(Severity::Warning, found, "at most 80 %")
        });
        report.note(&checks::QUOTA, full);
    }

    #[expect(clippy::cast_precision_loss, reason = "hours need no more")]
    fn judge_changes(&self, metrics: &Metrics, report: &mut Report) {
        let changes = metrics
            .number("etcd_server_leader_changes_seen_total")
            .unwrap_or(0.0);
        let now = Clock::boottime().unix_micros() as f64 / 1e6;
        let started = metrics.number("process_start_time_seconds").unwrap_or(now);
        let hours = ((now - started) / 3_600.0).max(1.0);
        let often = (changes / hours > CHANGES_MAX).then(|| {
            let found = format!("{}{changes} in {hours:.0} h", self.label);
            checks::LEADER_CHANGES.finds(Severity::Warning, found, "at most 3 an hour")
        });
        report.note(&checks::LEADER_CHANGES, often);
    }

    /// How often the member has flushed its log to the disk.
    pub(super) async fn flushes(&self, members: &Members) -> io::Result<f64> {
        let metrics = read_metrics(members, &self.address).await?;
        let count = metrics.number("etcd_disk_wal_fsync_duration_seconds_count");
        count.ok_or_else(|| io::Error::other("no wal_fsync in /metrics"))
    }

    /// Notes that the metrics have no answer for a check.
    pub(super) fn no_metrics(check: &crate::probe::Check, error: &io::Error, report: &mut Report) {
        report.no_answer(check, error, METRICS_GRANT);
    }
}

async fn read_metrics(members: &Members, (host, port): &Address) -> io::Result<Metrics> {
    let page = http::page(&members.opener, host, *port, METRICS).await?;
    Ok(Metrics::parse(&page))
}

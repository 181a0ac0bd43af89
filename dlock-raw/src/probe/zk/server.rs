//! One server: its version, its mode and its numbers.

use std::time::Duration;

use super::{
    admin::Admin,
    checks,
    words::{Fields, Reply, WHITELIST, command, read},
};
use crate::{
    driver::zk::{Address, Servers},
    probe::{
        finding::{Check, Severity},
        report::Report,
    },
};

/// The oldest version that dlock is tested with.
const VERSION_MIN: (u64, u64) = (3, 8);

/// A server's average latency may be this part of the session's time-out.
const LATENCY_PART: u32 = 12;

/// ZooKeeper itself warns of a flush that takes so long.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// The connections that a machine needs: those of a few lockers, and ten.
const CONNECTIONS_MIN: u64 = 20;

/// A server that serves, and what it reports.
pub(super) struct Server {
    /// The address, with a colon.
    pub(super) label: String,
    pub(super) address: Address,
    pub(super) srvr: Fields,
    pub(super) conf: Reply,
    pub(super) mntr: Reply,
    admin: Admin,
    is_read_only: Result<bool, String>,
}

impl Server {
    /// Reads them; an error if the server does not serve.
    pub(super) async fn read(servers: &Servers, address: &Address) -> Result<Self, String> {
        let text = command(servers, address, "srvr")
            .await
            .map_err(|error| error.to_string())?;
        if text.contains("not currently serving") {
            return Err("it serves no requests: its ensemble has no majority".to_owned());
        }
        let (host, port) = address;
        let mut admin = Admin::of(address).map_err(|error| error.to_string())?;
        let conf = read(servers, address, "conf").await;
        let mntr = read(servers, address, "mntr").await;
        let is_read_only = command(servers, address, "isro").await;
        let is_read_only = is_read_only
            .map(|text| text.starts_with("ro"))
            .map_err(|error| error.to_string());
        Ok(Self {
            label: format!("{host}:{port}: "),
            address: address.clone(),
            srvr: Fields::parse(&text),
            conf: admin.or_configuration(conf).await,
            mntr: admin.or_monitor(mntr).await,
            is_read_only: admin.or_read_only(is_read_only).await,
            admin,
        })
    }

    /// How often it has flushed its log to the disk by now.
    pub(super) async fn flushes(&self, servers: &Servers) -> Result<u64, String> {
        let mntr = match self.admin.answers() {
            true => self.admin.monitor().await?,
            false => read(servers, &self.address, "mntr").await?,
        };
        let count = mntr.number("zk_cnt_fsynctime");
        count.ok_or_else(|| "mntr has no zk_cnt_fsynctime".to_owned())
    }

    /// `leader`, `follower`, `observer`, `standalone` or `read-only`.
    pub(super) fn mode(&self) -> &str {
        self.srvr.text("Mode")
    }

    /// The version, without its build.
    pub(super) fn version(&self) -> &str {
        let version = self.srvr.text("Zookeeper version");
        version.split(['-', ',']).next().unwrap_or_default()
    }

    /// The product: others speak the protocol, too.
    pub(super) fn product(&self) -> &str {
        if !self.version().is_empty() {
            "ZooKeeper"
        } else if self.srvr.count("ClickHouse Keeper") > 0 {
            "ClickHouse Keeper"
        } else {
            "unknown"
        }
    }

    /// Judges this server by itself, for sessions of this time-out.
    pub(super) fn judge(&self, session: Duration, report: &mut Report) {
        let finds = |check: &Check, severity, found: String, wanted: &str| {
            check.finds(severity, format_args!("{}{found}", self.label), wanted)
        };
        let other = (self.product() != "ZooKeeper").then(|| {
            finds(
                &checks::PRODUCT,
                Severity::Danger,
                self.product().to_owned(),
                "ZooKeeper",
            )
        });
        report.note(&checks::PRODUCT, other);
        let is_old = numbers(self.version()).is_some_and(|version| version < VERSION_MIN);
        let old = is_old.then(|| {
            finds(
                &checks::OLD_VERSION,
                Severity::Warning,
                self.version().to_owned(),
                "3.8 or later",
            )
        });
        report.note(&checks::OLD_VERSION, old);
        let is_read_only = match &self.is_read_only {
            _ if self.mode() == "read-only" => Ok(true),
            // Then the mode is all that is known.
            Err(_) if !self.mode().is_empty() => Ok(false),
            other => other.clone(),
        };
        match is_read_only {
            Ok(is_read_only) => {
                let finding = is_read_only
                    .then(|| finds(&checks::READ_ONLY, Severity::Danger, "ro".to_owned(), "rw"));
                report.note(&checks::READ_ONLY, finding);
            }
            Err(why) => report.no_answer(&checks::READ_ONLY, why, WHITELIST),
        }
        self.judge_latency(session, report);
        self.judge_disk(report);
        self.judge_connections(report);
    }

    fn judge_latency(&self, session: Duration, report: &mut Report) {
        let all = self.srvr.text("Latency min/avg/max");
        let average = all
            .split('/')
            .nth(1)
            .and_then(|average| average.parse::<f64>().ok());
        let Some(average) = average else {
            return report.no_answer(&checks::LATENCY, "srvr has no latency", WHITELIST);
        };
        let allowed = session / LATENCY_PART;
        let finding = (average > allowed.as_secs_f64() * 1e3).then(|| {
            let found = format!("{}{average} ms", self.label);
            let wanted = format!("at most {allowed:?}, a part of the session");
            checks::LATENCY.finds(Severity::Warning, found, wanted)
        });
        report.note(&checks::LATENCY, finding);
    }

    fn judge_disk(&self, report: &mut Report) {
        let mntr = match &self.mntr {
            Ok(mntr) => mntr,
            Err(why) => return report.no_answer(&checks::SLOW_DISK, why, WHITELIST),
        };
        let Some(longest) = mntr.number("zk_max_fsynctime") else {
            return report.no_answer(
                &checks::SLOW_DISK,
                "mntr has no zk_max_fsynctime",
                WHITELIST,
            );
        };
        let longest = Duration::from_millis(longest);
        let finding = (longest >= FLUSH_MAX).then(|| {
            let found = format!("{}{longest:?} since its start", self.label);
            let wanted = format!("less than {FLUSH_MAX:?}");
            checks::SLOW_DISK.finds(Severity::Warning, found, wanted)
        });
        report.note(&checks::SLOW_DISK, finding);
    }

    fn judge_connections(&self, report: &mut Report) {
        let conf = match &self.conf {
            Ok(conf) => conf,
            Err(why) => return report.no_answer(&checks::CONNECTIONS, why, WHITELIST),
        };
        // Zero is no limit.
        let most: u64 = conf.number("maxClientCnxns").unwrap_or(0);
        let finding = (most > 0 && most < CONNECTIONS_MIN).then(|| {
            let found = format!("{}{most}", self.label);
            let wanted = format!("{CONNECTIONS_MIN} or more, or 0");
            checks::CONNECTIONS.finds(Severity::Warning, found, wanted)
        });
        report.note(&checks::CONNECTIONS, finding);
    }
}

/// The first two numbers of a version.
pub(super) fn numbers(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

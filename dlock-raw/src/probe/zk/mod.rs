//! ZooKeeper: each server of a URL, and the ensemble.

mod admin;
pub(super) mod checks;
mod ensemble;
mod server;
mod sessions;
mod words;

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Config, Settings},
};

use self::{server::Server, sessions::Given};
use super::{finding::Severity, report::Report, ttl};
use crate::driver::zk::Servers;

/// dlock-zk's own defaults and bounds.
const TICK: Duration = Duration::from_secs(2);
const TICK_MAX: Duration = Duration::from_secs(60);
const SESSION: Duration = Duration::from_secs(30);
const SESSION_MAX: Duration = Duration::from_secs(3_600);

/// The servers that are connected to.
const SERVERS_MAX: usize = 9;

/// Reads the settings of the servers of a URL.
pub(super) async fn probe(config: &Config) -> Result<Report> {
    let mut settings = Settings::of(config)?;
    let tick = settings.take_duration("tick", Duration::from_millis(10)..=TICK_MAX)?;
    let session = settings.take_duration("session", Duration::ZERO..=SESSION_MAX)?;
    let twice = ttl::given(&settings).saturating_mul(2).min(SESSION);
    let given = Given {
        tick: tick.unwrap_or(TICK),
        session: session.unwrap_or(twice),
    };
    let servers = Servers::take(&mut settings)?;
    let mut report = Report::default();
    let found = connect(&servers, &mut report).await?;
    for server in &found {
        server.judge(given.session, &mut report);
        let (host, port) = &server.address;
        report.about.servers.push(format!("{host}:{port}"));
    }
    ensemble::judge(&found, &mut report);
    sessions::probe(&servers, &found, given, &mut report).await;
    found[0].product().clone_into(&mut report.about.product);
    let oldest = found
        .iter()
        .min_by_key(|server| server::numbers(server.version()));
    report.about.version = oldest.map_or("", Server::version).to_owned();
    Ok(report)
}

/// The servers of the URL that serve, one at least.
async fn connect(servers: &Servers, report: &mut Report) -> Result<Vec<Server>> {
    let (mut found, mut silent) = (Vec::new(), Vec::new());
    for address in servers.addresses.iter().take(SERVERS_MAX) {
        let (host, port) = address;
        match Server::read(servers, address).await {
            Ok(server) => found.push(server),
            Err(why) => silent.push(format!("{host}:{port}: {why}")),
        }
    }
    if found.is_empty() {
        return Err(Error::new(ErrorKind::Unavailable, silent.join("; ")));
    }
    let missing = (!silent.is_empty()).then(|| {
        checks::UNREACHABLE.finds(Severity::Warning, silent.join("; "), "all servers serve")
    });
    report.note(&checks::UNREACHABLE, missing);
    Ok(found)
}

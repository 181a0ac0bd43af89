//! Redis and Valkey: one server, one behind Sentinels, or a Cluster.

pub(super) mod checks;
mod clocks;
mod cluster;
mod facts;
mod given;
mod identity;
mod info;
mod judge;
mod load;
mod memory;
mod persistence;
mod replication;
mod sentinel;

use dlock_core::{
    Result,
    backend::async_trait,
    config::{Config, Settings},
};

use self::{facts::Facts, given::Given, info::Info, judge::judge};
use super::{
    clock::ServerClock,
    count::count,
    report::{About, Report},
};
use crate::driver::redis::{Address, Connection, Servers, Topology, failed};

/// Reads the settings of the servers of a URL.
pub(super) async fn probe(config: &Config) -> Result<Report> {
    let mut settings = Settings::of(config)?;
    let servers = Servers::take(&mut settings)?;
    let given = Given::take(&mut settings, servers.timeouts.reply)?;
    let mut report = Report::default();
    match servers.topology {
        Topology::Server => {
            let role = probe_one(&servers, &servers.addresses[0], &given, &mut report).await?;
            report.about.role = role;
        }
        Topology::Sentinel => {
            let found = sentinel::probe(&servers, &mut report).await?;
            let role = probe_one(&servers, &found.primary, &given, &mut report).await?;
            report.about.role = format!("{role}, {}", count(found.sentinels, "Sentinel"));
        }
        Topology::Cluster => cluster::probe(&servers, &given, &mut report).await?,
    }
    Ok(report)
}

/// Probes a server that is alone, or the primary of its replicas; its role in words.
async fn probe_one(
    servers: &Servers,
    address: &Address,
    given: &Given,
    report: &mut Report,
) -> Result<String> {
    let connection = servers.connect(address).await.map_err(failed)?;
    let facts = Facts::read(servers, &connection, None).await?;
    let Some(info) = judge(&facts, servers.topology, given, report) else {
        return Ok(String::new());
    };
    set_about(&mut report.about, address, info);
    identity::probe_address(servers, address, &facts, info, report).await;
    clocks::probe_replicas(servers, &facts, info, report).await;
    let replicas: u64 = info.number("connected_slaves").unwrap_or(0);
    Ok(match info.text("role") {
        "master" => format!("primary, {}", count(replicas, "replica")),
        "slave" => "replica".to_owned(),
        other => other.to_owned(),
    })
}

fn set_about(about: &mut About, (host, port): &Address, info: &Info) {
    (about.product, about.version) = identity::product(info);
    about.servers.push(format!("{host}:{port}"));
}

/// The clock of a server.
struct RedisClock(Connection);

#[async_trait]
impl ServerClock for RedisClock {
    async fn micros(&self) -> Result<u64> {
        facts::time(&self.0).await.map_err(failed)
    }
}

/// The clock of the server that grants, or of a node of the Cluster.
pub(super) async fn clock(config: &Config) -> Result<Box<dyn ServerClock>> {
    let servers = Servers::take(&mut Settings::of(config)?)?;
    let connection = match servers.topology {
        Topology::Server | Topology::Cluster => cluster::first(&servers).await?,
        Topology::Sentinel => {
            let primary = sentinel::primary(&servers).await?;
            servers.connect(&primary).await.map_err(failed)?
        }
    };
    Ok(Box::new(RedisClock(connection)))
}

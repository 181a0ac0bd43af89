//! A Cluster: its state, its nodes, and each master.

use dlock_core::{Error, ErrorKind, Result};
use redis::RedisResult;

use super::{
    checks, clocks,
    facts::{Facts, refusal},
    given::Given,
    identity,
    info::Info,
    judge::judge,
};
use crate::{
    driver::redis::{Address, Connection, Servers, failed},
    probe::{count::count, finding::Severity, report::Report},
};

/// The masters that are probed; in a larger Cluster the others are only counted.
const MASTERS_MAX: usize = 8;

/// Fewer have no majority when one fails.
const MASTERS_MIN: usize = 3;

/// A line of `CLUSTER NODES`.
#[derive(Debug, PartialEq, Eq)]
struct Node {
    id: String,
    address: Address,
    /// The id of its master, if it is a replica.
    follows: Option<String>,
    has_slots: bool,
    has_moving_slots: bool,
    is_failing: bool,
}

pub(super) async fn probe(servers: &Servers, given: &Given, report: &mut Report) -> Result<()> {
    let connection = first(servers).await?;
    let nodes: RedisResult<String> = connection.request(&["CLUSTER", "NODES"]).await;
    let nodes = match nodes {
        Ok(nodes) => parse(&nodes),
        Err(error) => {
            let refused = refusal(&error, servers.user.as_deref(), "+cluster|nodes");
            for check in [
                checks::CLUSTER_MASTERS,
                checks::CLUSTER_REPLICAS,
                checks::SLOT_MOVED,
            ] {
                refused.note(&check, report);
            }
            Vec::new()
        }
    };
    judge_state(servers, &connection, report).await;
    judge_nodes(&nodes, report);
    probe_masters(servers, &nodes, given, report).await
}

/// A connection to the first server that answers.
pub(super) async fn first(servers: &Servers) -> Result<Connection> {
    let mut failure = Error::new(ErrorKind::Unavailable, "no node answered");
    for address in &servers.addresses {
        match servers.connect(address).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failure = failed(error),
        }
    }
    Err(failure)
}

async fn judge_state(servers: &Servers, connection: &Connection, report: &mut Report) {
    let info: RedisResult<String> = connection.request(&["CLUSTER", "INFO"]).await;
    let info = match info {
        Ok(info) => Info::parse(&info),
        Err(error) => {
            let refused = refusal(&error, servers.user.as_deref(), "+cluster|info");
            return refused.note(&checks::CLUSTER_STATE, report);
        }
    };
    let state = info.text("cluster_state");
    let finding = (state != "ok").then(|| {
        let slots = info.text("cluster_slots_ok");
        let found = format!("{state}, {slots} of 16384 slots");
        checks::CLUSTER_STATE.finds(Severity::Danger, found, "ok")
    });
    report.note(&checks::CLUSTER_STATE, finding);
}

fn judge_nodes(nodes: &[Node], report: &mut Report) {
    if nodes.is_empty() {
        return;
    }
    let masters: Vec<_> = nodes.iter().filter(|node| node.has_slots).collect();
    let few = (masters.len() < MASTERS_MIN).then(|| {
        let found = count(masters.len(), "master");
        checks::CLUSTER_MASTERS.finds(Severity::Warning, found, "3 or more")
    });
    report.note(&checks::CLUSTER_MASTERS, few);
    let is_followed = |master: &&Node| {
        let mut replicas = nodes.iter().filter(|node| !node.is_failing);
        replicas.any(|node| node.follows.as_ref() == Some(&master.id))
    };
    let alone = masters.iter().filter(|master| !is_followed(master)).count();
    let finding = (alone > 0).then(|| {
        let found = format!("{alone} of {} masters have no replica", masters.len());
        checks::CLUSTER_REPLICAS.finds(Severity::Warning, found, "a replica each")
    });
    report.note(&checks::CLUSTER_REPLICAS, finding);
    let replicas = nodes.iter().filter(|node| node.follows.is_some()).count();
    report.about.role = format!(
        "Cluster of {}, {}",
        count(masters.len(), "master"),
        count(replicas, "replica")
    );
}

/// Judges each master by itself, and the clocks of all.
async fn probe_masters(
    servers: &Servers,
    nodes: &[Node],
    given: &Given,
    report: &mut Report,
) -> Result<()> {
    let masters = nodes.iter().filter(|node| node.has_slots).take(MASTERS_MAX);
    let mut times = Vec::new();
    for master in masters {
        let (host, port) = &master.address;
        let label = format!("{host}:{port}");
        let connection = match servers.connect(&master.address).await {
            Ok(connection) => connection,
            Err(error) => {
                let why = format!("{label}: {error}");
                report.no_answer(&checks::ROLE, why, "a way from this machine to all masters");
                continue;
            }
        };
        let facts = Facts::read(servers, &connection, Some(label.clone())).await?;
        if let Some(info) = judge(&facts, servers.topology, given, report) {
            (report.about.product, report.about.version) = identity::product(info);
        }
        if let Ok(time) = &facts.time {
            times.push((label.clone(), *time));
        }
        let own: RedisResult<String> = connection.request(&["CLUSTER", "NODES"]).await;
        // Only a node itself lists the slots that it moves.
        let moves = own.is_ok_and(|own| parse(&own).iter().any(|node| node.has_moving_slots));
        let moving = moves.then(|| {
            facts.finds(
                &checks::SLOT_MOVED,
                Severity::Note,
                "slots are moving",
                "none",
            )
        });
        report.note(&checks::SLOT_MOVED, moving);
        report.about.servers.push(label);
    }
    clocks::judge(&times, report);
    Ok(())
}

/// Parses lines of: id, address, flags, master, two times, epoch, link, slots.
fn parse(nodes: &str) -> Vec<Node> {
    nodes.lines().filter_map(node).collect()
}

fn node(line: &str) -> Option<Node> {
    let mut words = line.split(' ');
    let (id, address, flags, master) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (address, _) = address.split_once('@').unwrap_or((address, ""));
    let (host, port) = address.rsplit_once(':')?;
    let slots: Vec<_> = words.skip(4).collect();
    Some(Node {
        id: id.to_owned(),
        address: (host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?),
        follows: (master != "-").then(|| master.to_owned()),
        has_slots: slots.iter().any(|slot| !slot.starts_with('[')),
        has_moving_slots: slots.iter().any(|slot| slot.starts_with('[')),
        is_failing: flags.split(',').any(|flag| flag == "fail"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_from_their_lines() {
        let nodes = parse(
            "07c3 10.0.0.1:6379@16379 slave e7d1 0 1426238317239 4 connected\n\
             e7d1 10.0.0.2:6379@16379,host myself,master - 0 0 1 connected 0-5460 [93-<-07c3]\n",
        );
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[0].follows.as_deref(), Some("e7d1"));
        assert!(!nodes[0].has_slots && !nodes[0].has_moving_slots);
        assert!(nodes[1].has_slots && nodes[1].has_moving_slots);
        assert_eq!(nodes[1].address, ("10.0.0.2".to_owned(), 6379));
        assert!(parse("").is_empty());
    }
}

//! Sentinels: how many there are, how many decide, and whether they agree.

use std::collections::HashMap;

use dlock_core::{Error, ErrorKind, Result};
use redis::RedisResult;

use super::{checks, facts::refusal};
use crate::{
    driver::redis::{Address, Connection, Servers, failed},
    probe::{count::count, finding::Severity, report::Report},
};

/// The Sentinels of a URL that are connected to; a URL rarely has more than five.
const SENTINELS_MAX: usize = 8;

/// Fewer cannot outvote one of them that is cut off.
const SENTINELS_MIN: u64 = 3;

/// The primary and the number of Sentinels.
pub(super) struct Found {
    pub(super) primary: Address,
    /// The number of Sentinels that the one that answered first knows, with itself.
    pub(super) sentinels: u64,
}

/// The address that most Sentinels of the URL name.
pub(super) async fn primary(servers: &Servers) -> Result<Address> {
    Ok(votes(servers).await?.1)
}

/// Judges the Sentinels.
pub(super) async fn probe(servers: &Servers, report: &mut Report) -> Result<Found> {
    let (named, primary, connection) = votes(servers).await?;
    let differ = (named.len() > 1).then(|| {
        let named: Vec<_> = named
            .iter()
            .map(|(host, port)| format!("{host}:{port}"))
            .collect();
        let wanted = "one primary";
        checks::PRIMARIES.finds(Severity::Danger, named.join(", "), wanted)
    });
    report.note(&checks::PRIMARIES, differ);
    let state: RedisResult<HashMap<String, String>> = connection
        .request(&["SENTINEL", "MASTER", &servers.service])
        .await;
    let state = match state {
        Ok(state) => state,
        Err(error) => {
            let refused = refusal(&error, None, "+sentinel|master");
            refused.note(&checks::SENTINELS, report);
            refused.note(&checks::QUORUM, report);
            return Ok(Found {
                primary,
                sentinels: 0,
            });
        }
    };
    let number = |field: &str| state.get(field).and_then(|value| value.parse::<u64>().ok());
    let sentinels = number("num-other-sentinels").unwrap_or(0) + 1;
    let few = (sentinels < SENTINELS_MIN).then(|| {
        let found = count(sentinels, "Sentinel");
        checks::SENTINELS.finds(Severity::Danger, found, "3 or more")
    });
    report.note(&checks::SENTINELS, few);
    let reply: RedisResult<String> = connection
        .request(&["SENTINEL", "CKQUORUM", &servers.service])
        .await;
    let (quorum, half) = (number("quorum").unwrap_or(0), sentinels / 2 + 1);
    let low = match reply {
        _ if quorum < half => Some(format!(
            "quorum {quorum} of {}",
            count(sentinels, "Sentinel")
        )),
        Err(error) if error.code() == Some("NOQUORUM") => Some(error.to_string()),
        _ => None,
    };
    let low = low.map(|found| {
        let wanted = format!("quorum {half}, and as many that answer");
        let advice = format!("SENTINEL SET {} quorum {half}", servers.service);
        checks::QUORUM
            .finds(Severity::Danger, found, wanted)
            .advice(advice)
    });
    report.note(&checks::QUORUM, low);
    Ok(Found { primary, sentinels })
}

/// The addresses that the Sentinels name, the one that most of them do, and a connection to one of these.
async fn votes(servers: &Servers) -> Result<(Vec<Address>, Address, Connection)> {
    let mut votes: Vec<(Address, usize)> = Vec::new();
    let mut answering = None;
    let mut failure = Error::new(ErrorKind::Unavailable, "no Sentinel answered");
    for sentinel in servers.addresses.iter().take(SENTINELS_MAX) {
        match vote(servers, sentinel).await {
            Ok((Some(address), connection)) => {
                answering.get_or_insert(connection);
                match votes.iter_mut().find(|(named, _)| *named == address) {
                    Some((_, count)) => *count += 1,
                    None => votes.push((address, 1)),
                }
            }
            Ok((None, _)) => {
                let why = format!(
                    "the Sentinels monitor no primary called {:?}",
                    servers.service
                );
                failure = Error::new(ErrorKind::InvalidConfig, why);
            }
            Err(error) => failure = failed(error),
        }
    }
    let chosen = votes.iter().max_by_key(|(_, count)| *count);
    match (chosen.cloned(), answering) {
        (Some((address, _)), Some(connection)) => {
            let named = votes.into_iter().map(|(address, _)| address);
            Ok((named.collect(), address, connection))
        }
        _ => Err(failure),
    }
}

async fn vote(servers: &Servers, sentinel: &Address) -> RedisResult<(Option<Address>, Connection)> {
    let connection = servers.connect_to_sentinel(sentinel).await?;
    let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", &*servers.service];
    let named = connection.request(&words).await?;
    Ok((named, connection))
}

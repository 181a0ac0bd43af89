//! Resolves the address of a node: fixed, or the primary that the Sentinels name.

use dlock_core::{Error, ErrorKind, Result};
use tokio::task::JoinSet;

use crate::{
    conn::connect::{Address, Connector, Endpoint},
    errors,
};

/// Resolves the address of one server.
pub(crate) enum Resolver {
    /// A fixed address.
    Fixed(Endpoint),
    /// The primary that the Sentinels name.
    Sentinels(SentinelResolver),
}

/// Queries Sentinels for the address of the primary.
pub(crate) struct SentinelResolver {
    pub(crate) service: String,
    pub(crate) sentinels: Vec<Endpoint>,
    /// The connector for the primary.
    pub(crate) connector: Connector,
}

impl Resolver {
    /// The present endpoint of the server.
    pub(crate) async fn resolve(&self) -> Result<Endpoint> {
        match self {
            Self::Fixed(endpoint) => Ok(endpoint.clone()),
            Self::Sentinels(sentinels) => {
                Ok(sentinels.connector.endpoint(&sentinels.resolve().await?))
            }
        }
    }

    /// The host of a fixed server.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Fixed(endpoint) => endpoint.host(),
            Self::Sentinels(_) => "",
        }
    }

    /// The error with the address of a fixed server.
    pub(crate) fn name_in(&self, error: Error) -> Error {
        match self {
            Self::Fixed(endpoint) => endpoint.name_in(error),
            Self::Sentinels(_) => error,
        }
    }

    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        match self {
            Self::Fixed(endpoint) => endpoint.has_tls(),
            Self::Sentinels(sentinels) => sentinels.sentinels.iter().any(Endpoint::has_tls),
        }
    }
}

impl SentinelResolver {
    /// Queries all Sentinels at once: the address that most of them name. A Sentinel that was cut off may
    /// still name the former primary.
    async fn resolve(&self) -> Result<Address> {
        let mut queries = JoinSet::new();
        for sentinel in &self.sentinels {
            queries.spawn(query_primary(sentinel.clone(), self.service.clone()));
        }
        let mut votes: Vec<(Address, usize)> = Vec::new();
        let mut failure = None;
        while let Some(answer) = queries.join_next().await {
            match answer.unwrap_or_else(|error| Err(task_failed(error))) {
                Ok(address) => {
                    if count(&mut votes, address) * 2 > self.sentinels.len() {
                        break;
                    }
                }
                // A refusal explains more than a Sentinel that is down.
                Err(error) if failure.is_none() || error.kind() != ErrorKind::Unavailable => {
                    failure = Some(error);
                }
                Err(_) => {}
            }
        }
        let chosen = votes.into_iter().max_by_key(|(_, votes)| *votes);
        match (chosen, failure) {
            (Some((address, _)), _) => Ok(address),
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(Error::new(ErrorKind::Unavailable, "no Sentinel answered")),
        }
    }
}

/// Counts a vote for `address`: its votes now.
fn count(votes: &mut Vec<(Address, usize)>, address: Address) -> usize {
    if let Some((_, votes)) = votes.iter_mut().find(|(named, _)| *named == address) {
        *votes += 1;
        return *votes;
    }
    votes.push((address, 1));
    1
}

async fn query_primary(sentinel: Endpoint, service: String) -> Result<Address> {
    let query = async {
        let mut connection = sentinel.connect().await?;
        let answer = redis::cmd("SENTINEL")
            .arg("GET-MASTER-ADDR-BY-NAME")
            .arg(&service)
            .query_async(&mut connection)
            .await;
        let answer: Option<Address> =
            answer.map_err(|error| errors::of_sentinel(error, sentinel.has_tls()))?;
        answer.ok_or_else(|| {
            let why = format!("the Sentinels monitor no primary called {service:?}");
            Error::new(ErrorKind::InvalidConfig, why)
        })
    };
    // The other half of the time is for the connection to the primary.
    let timeout = sentinel.timeouts().connect / 2;
    let answer = tokio::time::timeout(timeout, query).await;
    let answer =
        answer.unwrap_or_else(|_| Err(errors::connect_timed_out(timeout, sentinel.has_tls())));
    answer.map_err(|error| sentinel.name_in(error))
}

fn task_failed(error: tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, "the query of a Sentinel failed").with_source(error)
}

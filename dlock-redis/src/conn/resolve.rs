//! Where the server of a session is: always there, or where the Sentinels say.

use dlock_core::{Error, ErrorKind, Result};
use tokio::task::JoinSet;

use crate::{
    conn::connect::{Address, Dialer, Line},
    errors,
};

/// Where one server is found.
pub(crate) enum Place {
    /// At one address.
    Fixed(Line),
    /// Where the Sentinels say.
    Sentinels(Sentinels),
}

/// Those who know which server is the primary.
pub(crate) struct Sentinels {
    pub(crate) service: String,
    pub(crate) sentinels: Vec<Line>,
    /// For the server that they name.
    pub(crate) dialer: Dialer,
}

impl Place {
    /// The server, at present.
    pub(crate) async fn find(&self) -> Result<Line> {
        match self {
            Self::Fixed(line) => Ok(line.clone()),
            Self::Sentinels(sentinels) => sentinels.dialer.line(&sentinels.find().await?),
        }
    }

    /// The host of a server that is always there.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Fixed(line) => line.host(),
            Self::Sentinels(_) => "",
        }
    }

    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        match self {
            Self::Fixed(line) => line.has_tls(),
            Self::Sentinels(sentinels) => sentinels.sentinels.iter().any(Line::has_tls),
        }
    }
}

impl Sentinels {
    /// Asks all at once: the answer that most of them give, as long as any gives one. A Sentinel that
    /// was cut off may still name the former primary.
    async fn find(&self) -> Result<Address> {
        let mut asked = JoinSet::new();
        for sentinel in &self.sentinels {
            asked.spawn(ask(sentinel.clone(), self.service.clone()));
        }
        let mut votes: Vec<(Address, usize)> = Vec::new();
        let mut failure = None;
        while let Some(answer) = asked.join_next().await {
            match answer.unwrap_or_else(|error| Err(broken(error))) {
                Ok(address) => {
                    if count(&mut votes, address) * 2 > self.sentinels.len() {
                        break;
                    }
                }
                // One that refuses us says more than one that is down.
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

/// One more for this address: how many it has then.
fn count(votes: &mut Vec<(Address, usize)>, address: Address) -> usize {
    if let Some((_, votes)) = votes.iter_mut().find(|(named, _)| *named == address) {
        *votes += 1;
        return *votes;
    }
    votes.push((address, 1));
    1
}

async fn ask(sentinel: Line, service: String) -> Result<Address> {
    let asking = async {
        let mut connection = sentinel.connect().await?;
        let answer = redis::cmd("SENTINEL")
            .arg("GET-MASTER-ADDR-BY-NAME")
            .arg(&service)
            .query_async(&mut connection)
            .await;
        let answer: Option<Address> =
            answer.map_err(|error| errors::of_sentinel(error, sentinel.has_tls()))?;
        answer.ok_or_else(|| {
            let why = format!("the Sentinels watch nothing called {service:?}");
            Error::new(ErrorKind::InvalidConfig, why)
        })
    };
    // The other half is left for the server that the others name.
    let answer_max = sentinel.bounds().connect_max / 2;
    let answer = tokio::time::timeout(answer_max, asking).await;
    answer.unwrap_or_else(|_| Err(errors::silent(answer_max, sentinel.has_tls())))
}

fn broken(error: tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, "asking a Sentinel failed").with_source(error)
}

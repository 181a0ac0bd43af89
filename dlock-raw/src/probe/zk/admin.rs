//! The AdminServer: what a server reports by HTTP, where its commands of four letters are not allowed.

use std::{io, time::Duration};

use serde_json::{Map, Value};

use super::words::{Fields, Reply};
use crate::driver::{http, stream::Opener, zk::Address};

/// The port of the AdminServer, unless `admin.serverPort` is set.
const PORT: u16 = 8080;

/// A firewall may drop the connection: then the server's commands are all there is.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// The configuration has these names in the reply to `conf`.
const CONFIGURATION: [(&str, &str); 2] = [
    ("tick_time", "tickTime"),
    ("max_client_cnxns", "maxClientCnxns"),
];

/// The AdminServer of one server. It has no encryption, and needs no login.
#[derive(Debug)]
pub(super) struct Admin {
    host: String,
    opener: Opener,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    Answers,
    Silent,
}

impl Admin {
    pub(super) fn of((host, _): &Address) -> dlock_core::Result<Self> {
        Ok(Self {
            host: host.clone(),
            opener: Opener::new(None, CONNECT_MAX)?,
            state: State::Unknown,
        })
    }

    /// Whether it has answered.
    pub(super) fn answers(&self) -> bool {
        self.state == State::Answers
    }

    /// `conf`, or what the AdminServer has instead.
    pub(super) async fn or_configuration(&mut self, conf: Reply) -> Reply {
        if conf.is_ok() || !self.find().await {
            return conf;
        }
        let (page, members) = (self.page("configuration").await, self.members().await);
        let Ok(page) = page else { return conf };
        let named = CONFIGURATION.iter().filter_map(|(name, in_conf)| {
            let value = page.get(*name)?;
            Some(((*in_conf).to_owned(), value.to_string()))
        });
        let members = members.into_iter().map(|id| (format!("server.{id}"), id));
        Ok(Fields::of(named.chain(members)))
    }

    /// `mntr`, or what the AdminServer has instead.
    pub(super) async fn or_monitor(&mut self, mntr: Reply) -> Reply {
        if mntr.is_ok() || !self.find().await {
            return mntr;
        }
        self.monitor().await.or(mntr)
    }

    /// `isro`, or what the AdminServer has instead.
    pub(super) async fn or_read_only(
        &mut self,
        isro: Result<bool, String>,
    ) -> Result<bool, String> {
        if isro.is_ok() || !self.find().await {
            return isro;
        }
        let page = self.page("is_read_only").await;
        let answer = page.ok().and_then(|page| page.get("read_only")?.as_bool());
        answer.ok_or(()).or(isro)
    }

    /// The numbers under the names that they have in `mntr`.
    pub(super) async fn monitor(&self) -> Reply {
        let page = self.page("monitor").await;
        let page = page.map_err(|error| error.to_string())?;
        let fields = page
            .into_iter()
            .map(|(name, value)| (format!("zk_{name}"), value.to_string()));
        Ok(Fields::of(fields))
    }

    /// The ids of the voting servers; none if they are not known.
    async fn members(&self) -> Vec<String> {
        let page = self.page("voting_view").await.unwrap_or_default();
        let members = page.get("current_config").and_then(Value::as_object);
        members.map_or_else(Vec::new, |members| members.keys().cloned().collect())
    }

    /// Whether it answers; one that does not is tried once.
    async fn find(&mut self) -> bool {
        if self.state == State::Unknown {
            self.state = match self.page("is_read_only").await {
                Ok(_) => State::Answers,
                Err(_) => State::Silent,
            };
        }
        self.answers()
    }

    async fn page(&self, command: &str) -> io::Result<Map<String, Value>> {
        let path = format!("/commands/{command}");
        let page = http::page(&self.opener, &self.host, PORT, &path).await?;
        let page: Map<String, Value> = serde_json::from_str(&page)?;
        match page.get("error") {
            None | Some(Value::Null) => Ok(page),
            Some(error) => Err(io::Error::other(format!("{path}: {error}"))),
        }
    }
}

//! Redis: a lock is one key, of any type.

use std::collections::HashMap;

use dlock_core::{
    Error, ErrorKind, LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use percent_encoding::{AsciiSet, utf8_percent_encode};
use tokio::sync::Mutex;

use super::left::{Kind, Left, Store};
use crate::driver::redis::{Address, Connection, Servers, failed};

/// dlock-redis's own default.
const PREFIX: &str = "dlock:";

/// How a name becomes a key: whether it is escaped, and the default prefix.
const FORMATS: [(&str, (bool, &str)); 3] = [
    ("escaped", (true, PREFIX)),
    ("plain", (false, PREFIX)),
    ("redisson", (false, "")),
];

/// The characters that are escaped.
const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'{').add(b'}').add(b'%');

/// The ttl of a key that is not there, as `PTTL` returns it.
const NO_KEY: i64 = -2;

/// How often a node of a Cluster may lead to another one.
const REDIRECTS_MAX: usize = 5;

/// The servers, with a connection to each that is needed.
pub(super) struct Redis {
    servers: Servers,
    prefix: String,
    escapes: bool,
    first: Address,
    connections: Mutex<HashMap<Address, Connection>>,
}

impl Redis {
    pub(super) async fn open(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?;
        let format = settings.take_choice("format", FORMATS)?;
        let (escapes, default_prefix) = format.unwrap_or((true, PREFIX));
        let prefix = prefix.unwrap_or_else(|| default_prefix.to_owned());
        let servers = Servers::take(&mut settings)?;
        let (first, connection) = servers.connect_to_primary().await?;
        let connections = Mutex::new(HashMap::from([(first.clone(), connection)]));
        Ok(Self {
            servers,
            prefix,
            escapes,
            first,
            connections,
        })
    }

    fn key(&self, name: &LockName) -> String {
        let Self { prefix, .. } = self;
        match self.escapes {
            true => format!("{prefix}{}", utf8_percent_encode(name.as_str(), ESCAPED)),
            false => format!("{prefix}{name}"),
        }
    }

    /// Sends a command about a key, to the node of the Cluster that has it: a number.
    async fn number(&self, command: &str, key: &str) -> Result<i64> {
        let mut address = self.first.clone();
        for _ in 0..REDIRECTS_MAX {
            let connection = self.connection(&address).await?;
            match connection.request(&[command, key]).await {
                Ok(number) => return Ok(number),
                Err(error) => match error.redirect_node().and_then(|(to, _)| parse(to)) {
                    Some(to) => address = to,
                    None => return Err(failed(error)),
                },
            }
        }
        let why = format!("the nodes lead to each other for the key {key:?}");
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    async fn connection(&self, address: &Address) -> Result<Connection> {
        let mut connections = self.connections.lock().await;
        if let Some(connection) = connections.get(address) {
            return Ok(connection.clone());
        }
        let connection = self.servers.connect(address).await.map_err(failed)?;
        connections.insert(address.clone(), connection.clone());
        Ok(connection)
    }
}

#[async_trait]
impl Store for Redis {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let key = self.key(name);
        // Unlike EXISTS, each account of dlock may send it.
        let ttl = self.number("PTTL", &key).await?;
        Ok((ttl != NO_KEY)
            .then(|| Left::new(name, key, Kind::Lock))
            .into_iter()
            .collect())
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        Ok(self.number("DEL", &left.place).await? > 0)
    }
}

/// Reads `host:port`.
fn parse(address: &str) -> Option<Address> {
    let (host, port) = address.rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}

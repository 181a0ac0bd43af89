//! Redis: a lock is one key, of any type.

use std::collections::HashMap;

use dlock_core::{
    Error, ErrorKind, LockName, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use percent_encoding::{AsciiSet, utf8_percent_encode};
use tokio::sync::Mutex;

use super::left::{InUse, Kind, Left, Store, unescaped, without_prefix};
use crate::driver::redis::{Address, Connection, Servers, Topology, failed};

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

/// The ends of dlock's own keys.
const OWN: [&str; 3] = ["}fence", "}record", "}migration"];

/// How many keys the server visits for one request.
const SCAN_COUNT: &str = "1000";

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

    /// The servers that have keys: the primary, or those of the Cluster.
    async fn primaries(&self) -> Result<Vec<Address>> {
        if self.servers.topology != Topology::Cluster {
            return Ok(vec![self.first.clone()]);
        }
        let connection = self.connection(&self.first).await?;
        let nodes: String = connection
            .request(&["CLUSTER", "NODES"])
            .await
            .map_err(failed)?;
        // A line has an identity, an address, and flags.
        let primaries = nodes.lines().filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (address, flags) = (words.next()?, words.next()?);
            let is_primary = flags.split(',').any(|flag| flag == "master");
            parse(address.split('@').next()?).filter(|_| is_primary)
        });
        Ok(primaries.collect())
    }

    /// Whether a key with the prefix is that of a lock.
    fn is_lock(&self, key: &str) -> bool {
        let rest = key.strip_prefix(&self.prefix).unwrap_or_default();
        let is_own = match self.escapes {
            true => rest.contains('{'),
            false => OWN.iter().any(|own| rest.ends_with(own)),
        };
        !rest.is_empty() && !is_own
    }

    /// The lock of a key.
    fn in_use_at(&self, key: String) -> InUse {
        let name = key.strip_prefix(&self.prefix).unwrap_or_default();
        let name = match self.escapes {
            true => unescaped(name),
            false => name.to_owned(),
        };
        InUse::new(key, name)
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

    async fn in_use(&self, max: usize) -> Result<Vec<InUse>> {
        if self.prefix.is_empty() {
            return Err(without_prefix());
        }
        let pattern = escape_glob(&self.prefix) + "*";
        let mut places = Vec::new();
        for node in self.primaries().await? {
            let connection = self.connection(&node).await?;
            let mut cursor = "0".to_owned();
            loop {
                let words = ["SCAN", &cursor, "MATCH", &pattern, "COUNT", SCAN_COUNT];
                let (next, keys): (String, Vec<Vec<u8>>) =
                    connection.request(&words).await.map_err(failed)?;
                let keys = keys
                    .iter()
                    .map(|key| String::from_utf8_lossy(key).into_owned());
                let locks = keys.filter(|key| self.is_lock(key));
                places.extend(locks.map(|key| self.in_use_at(key)));
                if places.len() >= max {
                    places.truncate(max);
                    return Ok(places);
                }
                if next == "0" {
                    break;
                }
                cursor = next;
            }
        }
        Ok(places)
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

/// `text` as a pattern that fits only itself.
fn escape_glob(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '?' | '[' | ']') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

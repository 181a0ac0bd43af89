//! The nodes of a Cluster, and which of them has which keys.
//!
//! Not the driver's own client of a Cluster: it connects again without a word, and each connection
//! has to be looked at.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicU64},
};

use dlock_core::{
    Error, ErrorKind, Result,
    toolkit::{Lock, SingleFlight, Turn},
};
use redis::{FromRedisValue as _, Value};
use tokio::task::JoinSet;

use crate::{
    config::options::RedisOptions,
    conn::connect::{Address, Dialer, Line},
    conn::node::Session,
    conn::resolve::Place,
    errors::{self, Redirect},
    keys::slots::{SLOTS, slot},
};

/// The nodes of a Cluster.
pub(crate) struct Cluster {
    dialer: Dialer,
    options: RedisOptions,
    /// The highest token that any of them gave us.
    highest: Arc<AtomicU64>,
    /// Those that the user has named.
    seeds: Vec<Address>,
    map: Lock<Map>,
    /// Only one reads the map at a time.
    reading: SingleFlight<()>,
}

/// Who has what.
struct Map {
    sessions: HashMap<Address, Arc<Session>>,
    /// By slot.
    owners: Vec<Option<Arc<Session>>>,
    /// Whether a node has said so since it was last doubted.
    is_known: bool,
}

/// A part of the slots and its master.
type Range = (u16, u16, Address);

impl Cluster {
    pub(crate) fn new(
        dialer: Dialer,
        seeds: Vec<Address>,
        options: RedisOptions,
        highest: Arc<AtomicU64>,
    ) -> Self {
        Self {
            dialer,
            options,
            highest,
            seeds,
            map: Lock::new(Map {
                sessions: HashMap::new(),
                owners: vec![None; usize::from(SLOTS)],
                is_known: false,
            }),
            reading: SingleFlight::new(()),
        }
    }

    /// Connects to all masters, and looks whether they may grant locks. One that is down is no
    /// hindrance to the names that others have.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<()> {
        self.read().await?;
        let mut connecting = JoinSet::new();
        for session in self.map.lock().sessions.values() {
            let session = session.clone();
            connecting.spawn(async move { session.connect().await });
        }
        let mut connected = Err(no_master());
        while let Some(result) = connecting.join_next().await {
            match result.unwrap_or_else(|error| Err(broken(error))) {
                Ok(()) => connected = Ok(()),
                Err(error) if error.kind() != ErrorKind::Unavailable => return Err(error),
                Err(error) => connected = connected.map_err(|_| error),
            }
        }
        connected
    }

    /// The node that has this key.
    pub(crate) async fn owner(self: &Arc<Self>, key: &str) -> Result<Arc<Session>> {
        let slot = usize::from(slot(key));
        let known = |map: &Map| map.owners[slot].clone().filter(|_| map.is_known);
        if let Some(owner) = known(&self.map.lock()) {
            return Ok(owner);
        }
        // Also if only this slot had no owner when the map was read.
        self.doubt();
        self.read().await?;
        known(&self.map.lock()).ok_or_else(|| {
            let why = "no node of the Cluster has the key's slot at present";
            Error::new(ErrorKind::Unavailable, why)
        })
    }

    /// The node that a request is sent to.
    pub(crate) fn follow(&self, redirect: Redirect, from: &Session) -> Result<Arc<Session>> {
        let mut map = self.map.lock();
        let (host, port) = redirect.to;
        // Nodes that do not know their own name leave it out: it is that of the one that was asked.
        let host = match host.as_str() {
            "" | "?" => from.place().host().to_owned(),
            _ => host,
        };
        let session = self.session(&mut map, (host, port))?;
        if let Some(owner) = map.owners.get_mut(usize::from(redirect.slot))
            && !redirect.once
        {
            *owner = Some(session.clone());
        }
        Ok(session)
    }

    /// The map is read again before it is used again: a node may have been replaced.
    pub(crate) fn doubt(&self) {
        self.map.lock().is_known = false;
    }

    pub(crate) fn close(&self) {
        for session in self.map.lock().sessions.values() {
            session.close();
        }
    }

    async fn read(self: &Arc<Self>) -> Result<()> {
        let cluster = self.clone();
        let read = |turn: Turn<()>| async move {
            if cluster.map.lock().is_known {
                return turn.finish(Ok(()));
            }
            let ranges = cluster.ask_all().await;
            turn.finish(ranges.and_then(|ranges| cluster.learn(ranges)))
        };
        self.reading.run(read).await
    }

    /// Asks all nodes at once who has what: the first answer that gives an owner to each slot, or
    /// else the one that gives one to most. A wrong one is corrected by the node that is asked next.
    async fn ask_all(&self) -> Result<Vec<Range>> {
        let mut asked = JoinSet::new();
        for address in self.candidates() {
            let line = self.dialer.line(&address)?;
            asked.spawn(async move { ranges(&line).await });
        }
        let mut best: Result<Vec<Range>> = Err(no_master());
        while let Some(answer) = asked.join_next().await {
            match (answer.unwrap_or_else(|error| Err(broken(error))), &best) {
                (Ok(ranges), _) if covered(&ranges) >= usize::from(SLOTS) => return Ok(ranges),
                (Ok(ranges), Ok(others)) if covered(&ranges) <= covered(others) => {}
                (Ok(ranges), _) => best = Ok(ranges),
                (Err(error), Err(other)) if other.kind() == ErrorKind::Unavailable => {
                    best = Err(error);
                }
                (Err(_), _) => {}
            }
        }
        best
    }

    fn learn(&self, ranges: Vec<Range>) -> Result<()> {
        let mut map = self.map.lock();
        map.owners.fill(None);
        let masters: Vec<_> = ranges
            .iter()
            .map(|(_, _, address)| address.clone())
            .collect();
        for (first, last, address) in ranges {
            let session = self.session(&mut map, address)?;
            map.owners[usize::from(first)..=usize::from(last)].fill(Some(session));
        }
        // One that may still deliver something late ends that when it has the slot again (K7).
        map.sessions
            .retain(|address, session| masters.contains(address) || session.has_left());
        map.is_known = true;
        Ok(())
    }

    fn session(&self, map: &mut Map, address: Address) -> Result<Arc<Session>> {
        if let Some(session) = map.sessions.get(&address) {
            return Ok(session.clone());
        }
        let place = Place::Fixed(self.dialer.line(&address)?);
        let session = Arc::new(Session::new(
            place,
            self.options.clone(),
            true,
            self.highest.clone(),
        ));
        map.sessions.insert(address, session.clone());
        Ok(session)
    }

    /// Who may know: the nodes that we know, and those that the user has named.
    fn candidates(&self) -> Vec<Address> {
        let mut candidates: Vec<_> = self.map.lock().sessions.keys().cloned().collect();
        for seed in &self.seeds {
            if !candidates.contains(seed) {
                candidates.push(seed.clone());
            }
        }
        candidates
    }
}

/// Asks one node, bounded by the time that connecting may take.
async fn ranges(line: &Line) -> Result<Vec<Range>> {
    let connect_max = line.bounds().connect_max;
    let asking = async {
        let mut connection = line.connect().await?;
        let slots = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
        let slots: RedisSlots = slots
            .query_async(&mut connection)
            .await
            .map_err(|error| errors::of_slots(error, line.has_tls()))?;
        let ranges = slots
            .into_iter()
            .filter_map(|slot| range(slot, line.host()));
        let ranges: Vec<_> = ranges.collect();
        // A node that was just started, or was told to forget, knows nobody.
        if ranges.is_empty() {
            Err(no_master())
        } else {
            Ok(ranges)
        }
    };
    let asked = tokio::time::timeout(connect_max, asking).await;
    asked.unwrap_or_else(|_| Err(errors::silent(connect_max, line.has_tls())))
}

/// `CLUSTER SLOTS`: first slot, last slot, master, replicas.
type RedisSlots = Vec<Vec<Value>>;

fn covered(ranges: &[Range]) -> usize {
    let sizes = ranges
        .iter()
        .map(|(first, last, _)| usize::from(last - first) + 1);
    sizes.sum()
}

/// `None` for what makes no sense, and for a master without an address.
fn range(slot: Vec<Value>, asked: &str) -> Option<Range> {
    let mut parts = slot.into_iter();
    let first = u16::from_redis_value(parts.next()?).ok()?;
    let last = u16::from_redis_value(parts.next()?).ok()?;
    let Value::Array(master) = parts.next()? else {
        return None;
    };
    let mut master = master.into_iter();
    // An empty host is that of the node that was asked.
    let host = Option::<String>::from_redis_value(master.next()?).ok()?;
    let host = host.filter(|host| !host.is_empty() && host != "?");
    let port = u16::from_redis_value(master.next()?).ok()?;
    let address = (host.unwrap_or_else(|| asked.to_owned()), port);
    (first <= last && last < SLOTS).then_some((first, last, address))
}

fn no_master() -> Error {
    let why = "no node of the Cluster knows who has the keys; is it up, and has it its slots?";
    Error::new(ErrorKind::Unavailable, why)
}

fn broken(error: tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, "asking a node failed").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_without_a_host_is_the_asked_nodes() {
        let master = vec![Value::BulkString(Vec::new()), Value::Int(7000)];
        let slot = vec![Value::Int(0), Value::Int(5460), Value::Array(master)];
        let expected = (0, 5460, ("10.0.0.1".to_owned(), 7000));
        assert_eq!(range(slot, "10.0.0.1"), Some(expected));
    }

    #[test]
    fn a_range_beyond_the_last_slot_is_no_range() {
        let master = vec![Value::BulkString(b"h".to_vec()), Value::Int(7000)];
        let slot = vec![Value::Int(0), Value::Int(16_384), Value::Array(master)];
        assert_eq!(range(slot, "10.0.0.1"), None);
    }
}

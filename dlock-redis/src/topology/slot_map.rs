//! The slot map of a Cluster, as its nodes return it.

use dlock_core::{Error, ErrorKind, Result};
use redis::{FromRedisValue as _, Value};
use tokio::task::JoinSet;

use crate::{
    conn::connect::{Address, Endpoint},
    errors,
    keys::slots::SLOTS,
};

/// The first and the last slot of a range, and its master.
pub(super) type Range = (u16, u16, Address);

/// The reply to `CLUSTER SLOTS`: first slot, last slot, master, replicas.
type ClusterSlots = Vec<Vec<Value>>;

/// Queries all nodes at once: the first map that covers every slot, or else the one that covers most. A stale
/// one is corrected by the node that the next request is sent to.
pub(super) async fn fetch(nodes: Vec<Endpoint>) -> Result<Vec<Range>> {
    let mut queries = JoinSet::new();
    for node in nodes {
        queries.spawn(async move { fetch_from(&node).await });
    }
    let mut best: Result<Vec<Range>> = Err(no_slot_map());
    while let Some(reply) = queries.join_next().await {
        match (reply.unwrap_or_else(|error| Err(task_failed(error))), &best) {
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

/// The error of a Cluster of which no node returned a slot map.
pub(super) fn no_slot_map() -> Error {
    let why = "no node of the Cluster returned a slot map; check that the Cluster is up and all slots are \
               assigned";
    Error::new(ErrorKind::Unavailable, why)
}

/// A task that queried a node failed.
pub(super) fn task_failed(error: tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Internal, "the query of a node failed").with_source(error)
}

/// Queries one node, within `connect_timeout`.
async fn fetch_from(node: &Endpoint) -> Result<Vec<Range>> {
    let query = async {
        let mut connection = node.connect().await?;
        let slots = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
        let slots: ClusterSlots = slots
            .query_async(&mut connection)
            .await
            .map_err(|error| errors::of_slots(error, node.has_tls()))?;
        let ranges: Vec<_> = slots
            .into_iter()
            .filter_map(|slot| range(slot, node.host()))
            .collect();
        // A node that was just started or reset knows no other one.
        if ranges.is_empty() {
            Err(no_slot_map())
        } else {
            Ok(ranges)
        }
    };
    let timeout = node.timeouts().connect;
    let ranges = tokio::time::timeout(timeout, query).await;
    let ranges = ranges.unwrap_or_else(|_| Err(errors::connect_timed_out(timeout, node.has_tls())));
    ranges.map_err(|error| node.name_in(error))
}

fn covered(ranges: &[Range]) -> usize {
    let sizes = ranges
        .iter()
        .map(|(first, last, _)| usize::from(last - first) + 1);
    sizes.sum()
}

/// `None` for a malformed range, and for a master without an address.
fn range(slot: Vec<Value>, queried: &str) -> Option<Range> {
    let mut parts = slot.into_iter();
    let first = u16::from_redis_value(parts.next()?).ok()?;
    let last = u16::from_redis_value(parts.next()?).ok()?;
    let Value::Array(master) = parts.next()? else {
        return None;
    };
    let mut master = master.into_iter();
    // An empty host is that of the node that was queried.
    let host = Option::<String>::from_redis_value(master.next()?).ok()?;
    let host = host.filter(|host| !host.is_empty() && host != "?");
    let port = u16::from_redis_value(master.next()?).ok()?;
    let address = (host.unwrap_or_else(|| queried.to_owned()), port);
    (first <= last && last < SLOTS).then_some((first, last, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_without_a_host_is_the_queried_nodes() {
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

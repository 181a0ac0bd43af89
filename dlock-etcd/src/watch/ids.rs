//! The server's ids of the watches of one stream.
//!
//! We choose the ids and etcd keeps them, so many watches can be requested without waiting for replies.
//! Its gRPC proxy gives ids of its own, and not in the order of the requests. Then one watch is requested
//! at a time, and the reply is about that one.

use std::collections::{BTreeSet, HashMap};

use dlock_core::BootInstant;

/// The first id of ours. A server that chooses ids by itself counts from zero, and never this far.
pub(crate) const FIRST: i64 = 1 << 32;

/// The ids of one stream.
#[derive(Default)]
pub(crate) struct WatchIds {
    /// Requested and not answered yet.
    unanswered: BTreeSet<i64>,
    /// The time of the last request for a watch.
    requested_at: Option<BootInstant>,
    /// The server's id by ours, and ours by the server's.
    servers: HashMap<i64, i64>,
    ours: HashMap<i64, i64>,
    /// Whether a reply has shown that the server keeps our ids.
    keeps_ours: bool,
}

impl WatchIds {
    /// Since when a reply must be awaited before the next request; `None` if it need not.
    pub(crate) fn awaited_since(&self) -> Option<BootInstant> {
        if self.keeps_ours || self.unanswered.is_empty() {
            return None;
        }
        self.requested_at
    }

    /// The watch is being requested.
    pub(crate) fn request(&mut self, id: i64, now: BootInstant) {
        self.unanswered.insert(id);
        self.requested_at = Some(now);
    }

    /// The server has created a watch with its id `server`. Returns our id; `None` if none was requested.
    pub(crate) fn created(&mut self, server: i64) -> Option<i64> {
        self.keeps_ours = self.unanswered.contains(&server);
        let id = if self.keeps_ours {
            server
        } else {
            *self.unanswered.first()?
        };
        self.unanswered.remove(&id);
        self.servers.insert(id, server);
        self.ours.insert(server, id);
        Some(id)
    }

    /// The server's id of a watch that ends now; `None` if its request has no reply yet.
    pub(crate) fn end(&mut self, id: i64) -> Option<i64> {
        let server = self.servers.remove(&id)?;
        self.ours.remove(&server);
        Some(server)
    }

    /// Translates the server's id to ours.
    pub(crate) fn ours(&self, server: i64) -> Option<i64> {
        self.ours.get(&server).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: BootInstant = BootInstant::from_nanos(1);

    #[test]
    fn many_are_requested_at_once_where_our_ids_are_kept() {
        let mut ids = WatchIds::default();
        ids.request(FIRST, NOW);
        assert_eq!(ids.awaited_since(), Some(NOW), "it is not known yet");
        assert_eq!(ids.created(FIRST), Some(FIRST));
        for id in [FIRST + 1, FIRST + 2] {
            assert_eq!(ids.awaited_since(), None);
            ids.request(id, NOW);
        }
        // In any order.
        assert_eq!(ids.created(FIRST + 2), Some(FIRST + 2));
        assert_eq!(ids.end(FIRST + 1), None, "not answered");
        assert_eq!(ids.created(FIRST + 1), Some(FIRST + 1));
        assert_eq!(ids.end(FIRST + 1), Some(FIRST + 1));
    }

    #[test]
    fn one_at_a_time_is_requested_where_they_are_not() {
        let mut ids = WatchIds::default();
        for (id, server) in [(FIRST, 0), (FIRST + 1, 1)] {
            assert_eq!(ids.awaited_since(), None);
            ids.request(id, NOW);
            assert_eq!(ids.awaited_since(), Some(NOW));
            assert_eq!(ids.created(server), Some(id));
        }
        assert_eq!(ids.ours(1), Some(FIRST + 1));
        assert_eq!(ids.end(FIRST + 1), Some(1));
        assert_eq!(ids.ours(1), None);
        assert_eq!(ids.created(7), None, "none was requested");
    }
}

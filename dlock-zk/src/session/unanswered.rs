//! The attempts with a creation that was not answered.
//!
//! A server that is cut off from its leader keeps the requests of its clients. When it reaches the leader again, it
//! forwards them, although their session has moved to another server and has searched for the node there. The leader
//! refuses the requests of a server that a session has left, but not all of them: the server also kept the client's
//! try to come back, which makes it the session's server again. So a creation may be executed late, and its node is
//! searched again for a while (`session/late.rs`).

use std::{collections::HashMap, time::Duration};

use dlock_core::{AttemptId, BootInstant, toolkit::Lock};
use tokio::sync::Notify;

use crate::keys::AttemptPath;

/// How long a node may come late. A server keeps requests until it has noticed that its leader is gone, and that one
/// closes its connection: after `syncLimit` ticks, by default 10 s.
const LATE_MAX: Duration = Duration::from_mins(1);

/// The most attempts in the table; beyond that the oldest one is forgotten.
const ATTEMPTS_MAX: usize = 4_096;

/// The attempts of a session with a creation that was not answered.
#[derive(Default)]
pub(crate) struct Unanswered {
    attempts: Lock<HashMap<AttemptId, Attempt>>,
    added: Notify,
}

#[derive(Clone)]
struct Attempt {
    path: AttemptPath,
    until: BootInstant,
    state: State,
}

#[derive(Clone, PartialEq, Eq)]
enum State {
    /// A creation is in progress: any node may be the attempt's.
    Creating,
    /// Only this node is the attempt's, or none.
    Settled(Option<String>),
}

/// An attempt that creates nothing: its late nodes differ from its own one.
pub(crate) struct Settled {
    id: AttemptId,
    pub(crate) path: AttemptPath,
    own: Option<String>,
    is_over: bool,
}

impl Unanswered {
    /// Adds an attempt whose creation was not answered. It creates its node again, or ends.
    pub(crate) fn add(&self, id: AttemptId, path: &AttemptPath, now: BootInstant) {
        let mut attempts = self.attempts.lock();
        if attempts.len() >= ATTEMPTS_MAX
            && let Some(oldest) = attempts.iter().min_by_key(|(_, attempt)| attempt.until)
        {
            let oldest = *oldest.0;
            attempts.remove(&oldest);
        }
        let attempt = Attempt {
            path: path.clone(),
            until: now.after(LATE_MAX),
            state: State::Creating,
        };
        attempts.insert(id, attempt);
        drop(attempts);
        self.added.notify_one();
    }

    /// Whether a creation of the attempt was not answered, not long ago.
    pub(crate) fn contains(&self, id: AttemptId) -> bool {
        self.attempts.lock().contains_key(&id)
    }

    /// Notes that the attempt creates its node.
    pub(crate) fn set_creating(&self, id: AttemptId) {
        self.set(id, State::Creating);
    }

    /// Notes that the attempt has the node `own`, or ended without one.
    pub(crate) fn set_settled(&self, id: AttemptId, own: Option<&str>) {
        self.set(id, State::Settled(own.map(str::to_owned)));
    }

    fn set(&self, id: AttemptId, state: State) {
        if let Some(attempt) = self.attempts.lock().get_mut(&id) {
            attempt.state = state;
        }
    }

    /// The attempts that create nothing at present.
    pub(crate) fn settled(&self, now: BootInstant) -> Vec<Settled> {
        let attempts = self.attempts.lock();
        let settled = attempts.iter().filter_map(|(id, attempt)| {
            let State::Settled(own) = &attempt.state else {
                return None;
            };
            Some(Settled {
                id: *id,
                path: attempt.path.clone(),
                own: own.clone(),
                is_over: attempt.until <= now,
            })
        });
        settled.collect()
    }

    /// Whether `node`, which was listed after `attempt` was settled, came late. Not if the attempt has created another
    /// node since then.
    pub(crate) fn is_late(&self, attempt: &Settled, node: &str) -> bool {
        let attempts = self.attempts.lock();
        let state = attempts.get(&attempt.id).map(|attempt| &attempt.state);
        state == Some(&State::Settled(attempt.own.clone())) && attempt.own.as_deref() != Some(node)
    }

    /// Removes an attempt that was searched to its end.
    pub(crate) fn searched(&self, attempt: &Settled) {
        if attempt.is_over {
            self.attempts.lock().remove(&attempt.id);
        }
    }

    /// Waits until the table has an attempt.
    pub(crate) async fn any(&self) {
        while self.attempts.lock().is_empty() {
            self.added.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use dlock_core::LockName;

    use super::*;
    use crate::keys::Format;

    const START: BootInstant = BootInstant::from_nanos(0);

    fn id(number: usize) -> AttemptId {
        AttemptId::from_u128(number as u128)
    }

    fn path(id: AttemptId) -> AttemptPath {
        AttemptPath::new(
            Format::Curator,
            "/dlock",
            &LockName::new("a").expect("a name"),
            id,
        )
    }

    fn settled(table: &Unanswered, now: BootInstant) -> Settled {
        let mut settled = table.settled(now);
        assert_eq!(settled.len(), 1);
        settled.remove(0)
    }

    #[test]
    fn while_an_attempt_creates_its_node_none_is_late() {
        let table = Unanswered::default();
        table.add(id(1), &path(id(1)), START);
        assert!(table.settled(START).is_empty());
        table.set_settled(id(1), Some("own"));
        let attempt = settled(&table, START);
        assert!(table.is_late(&attempt, "other"));
        assert!(!table.is_late(&attempt, "own"));
        table.set_creating(id(1));
        assert!(!table.is_late(&attempt, "other"), "it may be the new one");
        table.set_settled(id(1), Some("other"));
        assert!(!table.is_late(&attempt, "other"));
        assert!(table.is_late(&settled(&table, START), "own"));
    }

    #[test]
    fn all_nodes_of_an_attempt_that_ended_are_late() {
        let table = Unanswered::default();
        table.add(id(1), &path(id(1)), START);
        table.set_settled(id(1), None);
        assert!(table.is_late(&settled(&table, START), "node"));
    }

    #[test]
    fn an_attempt_is_searched_once_more_after_its_time() {
        let table = Unanswered::default();
        table.add(id(1), &path(id(1)), START);
        table.set_settled(id(1), None);
        table.searched(&settled(&table, START));
        assert!(table.contains(id(1)));
        table.searched(&settled(&table, START.after(LATE_MAX)));
        assert!(!table.contains(id(1)));
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest() {
        let table = Unanswered::default();
        for number in 0..=ATTEMPTS_MAX {
            let now = BootInstant::from_nanos(number as u64);
            table.add(id(number), &path(id(number)), now);
        }
        assert!(!table.contains(id(0)));
        assert!(table.contains(id(1)));
        assert_eq!(table.attempts.lock().len(), ATTEMPTS_MAX);
    }
}

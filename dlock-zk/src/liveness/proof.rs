//! Proof that a session is alive, and for how long.
//!
//! *A lock is held only by a write that a majority has acknowledged*, never by a read, a ping or the state of a
//! connection. A server that is cut off from the leader answers those for seconds after the session's end (T40).
//!
//! Such a write does not refresh the session at the leader. The leader counts a time-out `T` from the last packet of
//! the session that a follower has reported. It polls the followers every half a tick. How old is that packet at most
//! when a write is acknowledged? Take two exchanges with the leader, writes or `sync`s, that were answered before the
//! write was sent. The second one was sent half a tick after the first one was answered.
//!
//! * Between the two answers the leader has polled the follower, which received that poll before it gave the
//!   second answer. Messages between leader and follower stay in order. The follower reported the first exchange
//!   then, or earlier, and before it passed on the write. So the leader that has the write has that report.
//! * If the write went over another connection, the leader has heard of the session when that was made, which was
//!   after the answer.
//!
//! So the session ends no earlier than `T` after the first exchange was sent, and no proof lasts longer. That is
//! so even if messages were late or machines suspended. A proof lasts `T/2` at most, and only if it was
//! acknowledged within `T/12`: the rest is for a leader that polls late.

use std::time::Duration;

use dlock_core::{BootInstant, backend::SentAt};

/// The longest proof, as a part of the session's time-out.
const TTL_PART: u32 = 2;

/// The shortest proof, as a part of it: another write proves more.
const TTL_MIN_PART: u32 = 3;

/// The longest time to an acknowledgement, as a part of it.
const ACK_PART: u32 = 12;

/// The leader polls the followers so often in a tick.
const POLLS_PER_TICK: u32 = 2;

/// A write that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingWrite {
    pub(crate) sent: SentAt,
    /// The contact that the leader has had when it receives this write.
    pub(crate) contact: BootInstant,
}

/// Proof that the session lives for `ttl` after `sent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    pub(crate) sent: SentAt,
    pub(crate) ttl: Duration,
}

/// The result of an acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The session lives for that long after the write was sent.
    Proves(Duration),
    /// The leader's last certain contact is too old.
    ContactTooOld,
    /// The acknowledgement took too long.
    TooSlow,
}

/// The times of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionTimes {
    /// `T`, as the servers gave it.
    pub(crate) timeout: Duration,
    /// The servers' tick.
    pub(crate) tick: Duration,
}

impl SessionTimes {
    /// The longest time that a proof lasts.
    pub(crate) fn ttl(self) -> Duration {
        self.timeout / TTL_PART
    }

    /// The time between two polls of the leader.
    pub(crate) fn polled_every(self) -> Duration {
        self.tick / POLLS_PER_TICK
    }

    /// Evaluates a write that was sent at `sent` and is acknowledged at `now`.
    pub(crate) fn evaluate(
        self,
        sent: BootInstant,
        contact: BootInstant,
        now: BootInstant,
    ) -> Evidence {
        if now.since(sent) > self.timeout / ACK_PART {
            return Evidence::TooSlow;
        }
        let ttl = self.ttl().min(contact.after(self.timeout).since(sent));
        if ttl < self.timeout / TTL_MIN_PART {
            return Evidence::ContactTooOld;
        }
        Evidence::Proves(ttl)
    }
}

impl Proof {
    pub(crate) fn end(self) -> BootInstant {
        self.sent.instant().after(self.ttl)
    }
}

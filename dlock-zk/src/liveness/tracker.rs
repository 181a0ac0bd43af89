//! The proofs of one session, from its writes to the waiters for a proof.

use dlock_core::{BootInstant, Clock, backend::SentAt, toolkit::Lock};
use tokio::sync::{Notify, watch};

use super::{
    contact::LeaderContact,
    proof::{Evidence, PendingWrite, Proof, SessionTimes},
};

/// The proofs of one session.
pub(crate) struct LivenessTracker {
    pub(crate) times: SessionTimes,
    clock: Clock,
    contact: Lock<LeaderContact>,
    /// The proof that lasts longest.
    longest: watch::Sender<Option<Proof>>,
    /// A heartbeat is needed now.
    demand: Notify,
}

impl LivenessTracker {
    /// The proofs of a session that was created after `began`.
    pub(crate) fn since(began: BootInstant, times: SessionTimes, clock: Clock) -> Self {
        Self {
            times,
            clock,
            contact: Lock::new(LeaderContact::since(began)),
            longest: watch::Sender::new(None),
            demand: Notify::new(),
        }
    }

    /// Starts a write: records its send time and the leader's last certain contact.
    pub(crate) fn begin_write(&self) -> PendingWrite {
        // The contact must be certain before the write is sent, so in this order.
        let contact = self.contact.lock().at();
        let sent = SentAt::now(&self.clock);
        PendingWrite { sent, contact }
    }

    /// Records that the leader has answered a write, or a `sync`.
    pub(crate) fn answered(&self, write: PendingWrite) {
        let sent = write.sent.instant();
        let mut contact = self.contact.lock();
        contact.answered(self.times, sent, self.clock.now());
    }

    /// Evaluates a write that is acknowledged now, and publishes its proof.
    pub(crate) fn acknowledged(&self, write: PendingWrite) -> Evidence {
        let PendingWrite { sent, contact } = write;
        let now = self.clock.now();
        let evidence = self.times.evaluate(sent.instant(), contact, now);
        self.answered(write);
        if let Evidence::Proves(ttl) = evidence {
            self.publish(Proof { sent, ttl });
        }
        evidence
    }

    fn publish(&self, proof: Proof) {
        self.longest.send_if_modified(|longest| {
            // Of two that end together the later one counts for those that need a fresh one.
            let rank = |proof: Proof| (proof.end(), proof.sent.instant());
            let is_longer = longest.is_none_or(|longest| rank(longest) < rank(proof));
            if is_longer {
                *longest = Some(proof);
            }
            is_longer
        });
    }

    /// Waits for a proof sent after `than`; requests a heartbeat if there is none yet.
    pub(crate) async fn proof_after(&self, than: BootInstant) -> Option<Proof> {
        let newer = |proof: &Option<Proof>| proof.filter(|proof| proof.sent.instant() > than);
        if let Some(proof) = newer(&self.longest.borrow()) {
            return Some(proof);
        }
        let mut proofs = self.longest.subscribe();
        self.request_heartbeat();
        // The sender is in `self`, so there is no error.
        let proof = proofs.wait_for(|proof| newer(proof).is_some()).await;
        proof.ok().and_then(|proof| *proof)
    }

    /// Requests a heartbeat now.
    pub(crate) fn request_heartbeat(&self) {
        self.demand.notify_one();
    }

    /// Waits until a heartbeat is requested.
    pub(crate) async fn heartbeat_requested(&self) {
        self.demand.notified().await;
    }
}

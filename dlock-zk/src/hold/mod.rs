//! A lock that is held: its node, and how it is watched.

pub(crate) mod verify_unwatched;

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use dlock_core::{
    BootInstant, LostCause, Result,
    backend::{Attempt, Lease, Renewed},
    toolkit::Lock,
};
use zookeeper_client::{Error as ZkError, EventType};

use crate::acquire::enqueue as take;
use crate::acquire::enqueue::Queued;
use crate::errors;
use crate::keys::Place;
use crate::queue::order as queue;
use crate::session::Session;
use crate::watch::Purpose;
use crate::watch::Watch;

/// A node that holds a lock.
pub(crate) struct Entry {
    pub(crate) session: Arc<Session>,
    pub(crate) attempt: Attempt,
    pub(crate) path: String,
    directory: String,
    /// The transaction that made the node: no other node has it.
    pub(crate) czxid: i64,
    /// When the write was sent that core was told of, and until when that holds.
    told: Lock<(BootInstant, BootInstant)>,
    /// The connection over which the node was looked at last.
    looked_over: AtomicU64,
    is_watched: AtomicBool,
    /// The node is being deleted.
    is_swept: AtomicBool,
}

impl Entry {
    pub(crate) fn new(
        session: Arc<Session>,
        attempt: Attempt,
        place: &Place,
        queued: &Queued,
    ) -> Self {
        Self {
            session,
            attempt,
            path: place.path(&queued.name),
            directory: place.dir.clone(),
            czxid: queued.czxid,
            told: Lock::new((BootInstant::from_nanos(0), BootInstant::FOREVER)),
            looked_over: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
            is_swept: AtomicBool::new(false),
        }
    }

    /// Core is told that the write sent at `proof` proves the lock until `until`.
    pub(crate) fn tell(&self, proof: BootInstant, until: BootInstant) {
        *self.told.lock() = (proof, until);
    }

    fn told(&self) -> (BootInstant, BootInstant) {
        *self.told.lock()
    }

    /// Whether its time is over.
    pub(crate) fn is_expired(&self, now: BootInstant) -> bool {
        self.told().1 <= now && !self.is_swept()
    }

    /// Whether we hear at once what others do to the node.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_watched.load(Ordering::Acquire)
    }

    pub(crate) fn is_swept(&self) -> bool {
        self.is_swept.load(Ordering::Acquire)
    }

    /// Proves it once more: by a write of its session that is newer than the last one, and over each
    /// new connection by a look at the node itself.
    pub(crate) async fn renew(self: &Arc<Self>, lease: &Lease) -> Result<Renewed> {
        let session = &self.session;
        if self.is_swept() {
            return Ok(Renewed::Lost(LostCause::Expired));
        }
        if session.is_over() {
            return Ok(Renewed::Lost(LostCause::SessionEnded));
        }
        // Released: its heartbeats may have ended (K4).
        if session.held.find(self.attempt.id()).is_none() {
            return Ok(Renewed::Lost(LostCause::Removed));
        }
        let proof = session.proof_after(self.told().0).await?;
        let connection = session.state().connection;
        if self.looked_over.load(Ordering::Acquire) != connection
            && !self.look(connection).await.map_err(errors::of_request)?
        {
            return Ok(Renewed::Lost(LostCause::Removed));
        }
        let renewed = lease.renewed(proof.sent, proof.ttl);
        if let Renewed::Until(deadline) = renewed {
            self.tell(proof.sent.instant(), deadline.instant());
        }
        Ok(renewed)
    }

    /// Whether the node is still there and ours; it is watched from then on, if there is room for that. No server
    /// gives us what is older than the write that proves the session, which we have heard of.
    async fn look(self: &Arc<Self>, connection: u64) -> Result<bool, ZkError> {
        let session = &self.session;
        let client = session.client()?;
        let allowed = match self.is_watched() {
            true => None,
            false => session.watches.allow(&client, &self.path, Purpose::Hold),
        };
        let (stat, own) = match allowed {
            None => (session.ask(|| client.check_stat(&self.path)).await?, None),
            Some(allowed) => {
                let watched = || client.check_and_watch_stat(&self.path);
                let (stat, watcher) = session.ask(watched).await?;
                (stat, Some(allowed.watch(watcher)))
            }
        };
        let is_ours =
            stat.is_some_and(|stat| stat.czxid == self.czxid && session.owns(stat.ephemeral_owner));
        if is_ours {
            self.looked_over.store(connection, Ordering::Release);
            if let Some(own) = own {
                self.keep(own);
            }
        }
        Ok(is_ours)
    }

    /// Hears from now on what becomes of the node.
    fn keep(self: &Arc<Self>, own: Watch) {
        if !self.is_watched.swap(true, Ordering::AcqRel) {
            tokio::spawn(hear(Arc::downgrade(self), own));
        }
    }

    /// Deletes the node.
    pub(crate) async fn release(&self) -> Result<()> {
        match self.delete().await {
            Ok(()) | Err(ZkError::NoNode) => {}
            // Its nodes went with it.
            Err(_) if self.session.is_over() => {}
            Err(error) => return Err(errors::of_request(error)),
        }
        self.session.held.remove(self);
        Ok(())
    }

    /// Deletes the node, and notes that the queue was ours until then.
    async fn delete(&self) -> Result<(), ZkError> {
        let session = &self.session;
        let client = session.client()?;
        let sequence = queue::sequence(&self.path);
        let allowed = sequence
            .filter(|sequence| session.known.is_worth_a_watch(&self.directory, *sequence))
            .and_then(|_| {
                let watches = &session.watches;
                watches.allow(&client, &self.directory, Purpose::Save)
            });
        let both = || {
            let watching =
                allowed.map(|allowed| (allowed, client.check_and_watch_stat(&self.directory)));
            let delete = client.delete(&self.path, None);
            async {
                let watched = async {
                    let (allowed, watching) = watching?;
                    let (stat, watcher) = watching.await.ok()?;
                    stat.map(|_| allowed.watch(watcher))
                };
                let (watch, deleted) = tokio::join!(watched, delete);
                deleted.map(|()| watch)
            }
        };
        let watch = session.ask(both).await?;
        if let Some(sequence) = sequence {
            session.known.left(&self.directory, sequence, watch);
        }
        Ok(())
    }
}

/// Tells of the node's deletion. Ends with the node: it is deleted by the release, or by the session's
/// end.
async fn hear(entry: Weak<Entry>, mut own: Watch) {
    loop {
        let (event, allowed) = own.event().await;
        let Some(entry) = entry.upgrade() else { return };
        if event == EventType::NodeDeleted {
            // After a release nobody hears this.
            return entry.attempt.report_lost(LostCause::Removed);
        }
        let Ok(client) = entry.session.client() else {
            return;
        };
        match client.check_and_watch_stat(&entry.path).await {
            // Somebody wrote into it.
            Ok((Some(stat), watcher)) if stat.czxid == entry.czxid => own = allowed.watch(watcher),
            Ok(_) => return entry.attempt.report_lost(LostCause::Removed),
            Err(_) => {
                entry.is_watched.store(false, Ordering::Release);
                return entry.looked_over.store(0, Ordering::Release);
            }
        }
    }
}

/// Deletes what nobody renewed: core releases what it has, but a lease may be forgotten (K6).
pub(crate) fn sweep(session: &Arc<Session>) {
    for entry in session.held.expired(session.clock.now()) {
        entry.is_swept.store(true, Ordering::Release);
        tokio::spawn(async move {
            take::delete_surely(&entry.session, &entry.path).await;
            entry.session.held.remove(&entry);
        });
    }
}

//! A lock that is held: renewal, release, loss.

pub(crate) mod foreign;
pub(crate) mod verify_unwatched;

use std::sync::{Arc, Weak};

use dlock_core::{
    LostCause, Result,
    backend::{Lease, Renewed},
};
use zookeeper_client::{Error as ZkError, EventType};

use crate::{
    errors, nodes,
    queue::order,
    session::{Session, holds::HeldNode},
    watch::{Purpose, Watch},
};

/// A lock that is held, as its lease refers to it.
pub(crate) struct Hold {
    session: Arc<Session>,
    node: Arc<HeldNode>,
}

impl Hold {
    pub(crate) fn new(session: Arc<Session>, node: Arc<HeldNode>) -> Self {
        Self { session, node }
    }

    /// Proves the hold once more: with a write of its session that is newer than the last one. Over each new
    /// connection it also verifies the node.
    pub(crate) async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let Self { session, node } = self;
        if node.is_expiring() {
            return Ok(Renewed::Lost(LostCause::Expired));
        }
        if session.has_ended() {
            return Ok(Renewed::Lost(LostCause::SessionEnded));
        }
        // After a release the heartbeats may have ended (K4).
        if session.holds.find(node.attempt.id()).is_none() {
            return Ok(Renewed::Lost(LostCause::Removed));
        }
        let proof = session.proof_after(node.proved()).await?;
        let generation = session.connection.generation();
        let is_verified = node.is_verified_over(generation);
        if !node.is_verified_over(generation)
            && !self.verify(generation).await.map_err(errors::of_request)?
        {
            return Ok(Renewed::Lost(LostCause::Removed));
        }
        if !is_verified {
            let entered = foreign::watch_queue(session, node).await;
            let entered = entered.inspect_err(|_| node.set_queue_unwatched());
            if entered.map_err(errors::of_request)? {
                return Ok(Renewed::Lost(LostCause::Taken));
            }
        }
        let renewed = lease.renewed(proof.sent, proof.ttl);
        if let Renewed::Until(deadline) = renewed {
            node.set_deadline(proof.sent.instant(), deadline.instant());
        }
        Ok(renewed)
    }

    /// Whether the node still exists and is of this session; watches it if the budget allows that. No server answers
    /// with a state older than the write that proves the session, which this client has seen.
    async fn verify(&self, generation: u64) -> Result<bool, ZkError> {
        let Self { session, node } = self;
        let client = session.client()?;
        let permit = match node.is_watched() {
            true => None,
            false => session.watches.permit(&client, &node.path, Purpose::Hold),
        };
        let (stat, watch) = match permit {
            None => {
                let checked = session.request(|| client.check_stat(&node.path));
                (checked.await?, None)
            }
            Some(permit) => {
                let watched = || client.check_and_watch_stat(&node.path);
                let (stat, watcher) = session.request(watched).await?;
                (stat, Some(permit.watch(watcher)))
            }
        };
        let is_held =
            stat.is_some_and(|stat| stat.czxid == node.czxid && session.owns(stat.ephemeral_owner));
        if is_held {
            node.set_verified_over(generation);
            if let Some(watch) = watch
                && node.set_watched()
            {
                let (session, node) = (Arc::downgrade(session), Arc::downgrade(node));
                tokio::spawn(report_removal(session, node, watch));
            }
        }
        Ok(is_held)
    }

    /// Deletes the node.
    pub(crate) async fn release(&self) -> Result<()> {
        self.node.end_queue_watch();
        match self.delete().await {
            Ok(()) | Err(ZkError::NoNode) => {}
            // The session's nodes ended with it.
            Err(_) if self.session.has_ended() => {}
            Err(error) => return Err(errors::of_request(error)),
        }
        self.session.holds.remove(&self.node);
        Ok(())
    }

    /// Deletes the node, and records that it was the first of its queue until then.
    async fn delete(&self) -> Result<(), ZkError> {
        let Self { session, node } = self;
        let client = session.client()?;
        let sequence = order::sequence(session.format, &node.path);
        let permit = sequence
            .filter(|sequence| session.sequences.should_watch(&node.directory, *sequence))
            .and_then(|_| {
                let watches = &session.watches;
                watches.permit(&client, &node.directory, Purpose::Cache)
            });
        let both = || {
            let watching =
                permit.map(|permit| (permit, client.check_and_watch_stat(&node.directory)));
            let delete = client.delete(&node.path, None);
            async {
                let watched = async {
                    let (permit, watching) = watching?;
                    let (stat, watcher) = watching.await.ok()?;
                    stat.map(|_| permit.watch(watcher))
                };
                let (watch, deleted) = tokio::join!(watched, delete);
                deleted.map(|()| watch)
            }
        };
        let watch = session.request(both).await?;
        if let Some(sequence) = sequence {
            session.sequences.released(&node.directory, sequence, watch);
        }
        Ok(())
    }
}

/// Reports that the node was deleted. The task ends with the node: a release deletes it, or the session's end.
async fn report_removal(session: Weak<Session>, node: Weak<HeldNode>, mut watch: Watch) {
    loop {
        let (event, permit) = watch.event().await;
        let (Some(session), Some(node)) = (session.upgrade(), node.upgrade()) else {
            return;
        };
        if event == EventType::NodeDeleted {
            // After a release this has no effect.
            return node.attempt.report_lost(LostCause::Removed);
        }
        let Ok(client) = session.client() else {
            return;
        };
        match client.check_and_watch_stat(&node.path).await {
            // Another client wrote into the node.
            Ok((Some(stat), watcher)) if stat.czxid == node.czxid => watch = permit.watch(watcher),
            Ok(_) => return node.attempt.report_lost(LostCause::Removed),
            Err(_) => return node.set_unwatched(),
        }
    }
}

/// Deletes the nodes of locks whose deadline has passed. Core releases the others, but a lease may be dropped without
/// a release (K6).
pub(crate) fn delete_expired(session: &Arc<Session>) {
    for node in session.holds.expired(session.clock.now()) {
        node.set_expiring();
        let session = session.clone();
        tokio::spawn(async move {
            nodes::delete_until_confirmed(&session, &node.path).await;
            session.holds.remove(&node);
        });
    }
}

//! What proves a hold, and moving to another lease when its leader is not the present one any more.
//!
//! A leader that slept for longer than a ttl wakes up, takes the leases that it knew for ended, and has
//! them revoked before it hears that there is another one, which kept them alive meanwhile (T24). But it
//! does not know those that were granted after it fell asleep. So a lease proves a hold only as long as
//! no later leader than the one that granted it may have kept it alive; after an election, each held
//! lock moves to a new one by a put, which keeps the place and its token.
//!
//! Why that is enough. Let `T` be a term that was known before the lease was asked for, and a keep-alive
//! be confirmed by the leader of the term `a`. A linearizable read that began after that shows the term
//! `T` again, so `a ≤ T`. Who revokes the lease knows it, and so is of a term `r ≥ T`. If `r = a`, its
//! clock for the lease began with our keep-alive or later. If `r > a`, it leads since after the read,
//! and its clock began then. Either way it ends the lease after our deadline (K2).

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use dlock_core::{
    Result,
    backend::{Renewal, SentAt},
    toolkit::Backoff,
};
use etcd_client::{Compare, CompareOp, Txn, TxnOp};

use crate::{
    EtcdLock,
    conn::members::may_pass,
    errors,
    lease::etcd_lease::{Carrier, Proof},
    queue::batch::Ask,
    queue::key::Entry,
    ranges::{first, keys_only, ranges},
};

/// A place moves again when the leader changes again, or its move was not answered; not for ever.
const MOVES_MAX: u32 = 4;

/// What a hold is proved for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Grant,
    Renewal,
}

/// A hold to be proved.
pub(crate) struct Claim<'a> {
    pub(crate) entry: &'a Arc<Entry>,
    /// The revision in which its place was made.
    pub(crate) made: i64,
    pub(crate) ttl: Duration,
    pub(crate) renewal: Renewal,
    pub(crate) purpose: Purpose,
}

/// That the store keeps a place.
pub(crate) struct Proved {
    /// When the request was sent that proves it.
    pub(crate) sent: SentAt,
    /// How long the store keeps it from then on.
    pub(crate) granted: Duration,
    /// Whether it has another lease since.
    pub(crate) has_moved: bool,
}

impl EtcdLock {
    /// Proves a hold, on another lease if it must be; `None` when the place or its lease is gone.
    ///
    /// Dropped before its end, it leaves open which of two leases has the place; both are kept then,
    /// and the next call finds out.
    pub(crate) async fn prove(&self, claim: &Claim<'_>) -> Result<Option<Proved>> {
        let (standing, mut pause) = (&claim.entry.standing, Backoff::new());
        let mut has_moved = false;
        for tried in 1..=MOVES_MAX {
            if !standing.is_in_doubt() {
                let carrier = standing.carrier();
                match claim.proof(&carrier).await? {
                    Proof::Since(sent) => {
                        let granted = carrier.granted;
                        return Ok(Some(Proved {
                            sent,
                            granted,
                            has_moved,
                        }));
                    }
                    Proof::Over => return Ok(None),
                    Proof::Outdated => {}
                }
            }
            match self.change_lease(claim).await {
                Ok(true) => has_moved = true,
                Ok(false) => return Ok(None),
                Err(error) if tried < MOVES_MAX && may_pass(&error) => {
                    tracing::debug!(%error, "a place has not moved to another lease yet");
                    tokio::time::sleep(pause.next_pause()).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(errors::lease_ended())
    }

    /// Moves the place to another lease; whether it was there.
    async fn change_lease(&self, claim: &Claim<'_>) -> Result<bool> {
        let (entry, standing) = (claim.entry, &claim.entry.standing);
        // One that was moved to in doubt is as good as a new one.
        if !standing.is_in_doubt() || !standing.carrier().is_open() {
            let seat = self.carriers.seat(claim.ttl, claim.renewal).await?;
            standing.moves_to(seat);
            if matches!(claim.purpose, Purpose::Grant) {
                standing.wait(entry);
            }
        }
        let is_there = entry.put_on(&standing.carrier(), claim.made).await?;
        let left = standing.has_moved();
        if entry.is_own_carrier {
            for carrier in left {
                // Nobody else needs it, and it would end by itself.
                tokio::spawn(async move { carrier.revoke_surely().await });
            }
        }
        Ok(is_there)
    }
}

impl Claim<'_> {
    async fn proof(&self, carrier: &Carrier) -> Result<Proof> {
        match (self.renewal, self.purpose) {
            (Renewal::Auto, _) => Ok(carrier.fresh(self.ttl).await),
            (Renewal::None, Purpose::Renewal) => carrier.keep_alive().await,
            (Renewal::None, Purpose::Grant) => carrier.proved_for(self.ttl).await,
        }
    }
}

impl Entry {
    /// Puts the place that was made in revision `made` on `carrier`; whether it was there.
    ///
    /// It compares the lease that it comes from: what is on its way and was given up must not move it
    /// back later.
    async fn put_on(&self, carrier: &Carrier, made: i64) -> Result<bool> {
        let own = &*self.keys.own;
        let mut from = self.carrier.id();
        for _ in 0..MOVES_MAX {
            let txn = Txn::new()
                .when([
                    Compare::create_revision(own, CompareOp::Equal, made),
                    Compare::lease(own, CompareOp::Equal, from),
                ])
                .and_then([self.put(carrier)])
                .or_else([TxnOp::get(own, Some(keys_only()))]);
            let queue = self.keys.queue.clone();
            // Whether it was answered or not, it makes no place.
            let doubtful = AtomicBool::default();
            let moved = self.trips.join(Ask::Make { queue, txn }, &doubtful);
            let Some(found) = moved.await? else {
                carrier.is_gone();
                return Err(errors::lease_ended());
            };
            if found.succeeded {
                return Ok(true);
            }
            match ranges(found.ops).next().and_then(first) {
                Some(place) if place.create_revision() == made => from = place.lease(),
                _ => return Ok(false),
            }
            if from == carrier.id() {
                return Ok(true);
            }
        }
        Err(errors::lease_ended())
    }
}

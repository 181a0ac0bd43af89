//! One attempt's place in the queue of its name, and the transactions about it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Holder, Result,
    backend::{AcquireRequest, Renewal},
};
use etcd_client::{Compare, CompareOp, GetOptions, KeyValue, PutOptions, Txn, TxnOp};

use crate::{
    EtcdLock,
    conn::members::Session,
    errors,
    keys::{self as layout, Keys},
    lease::attached::Standing,
    lease::etcd_lease::Carrier,
    lease::poll_watchdog::Pulse,
    lease::users::Seat,
    queue::batch::{Ask, Found, Trips},
    queue::key_pool::{Id, Ids},
    ranges::{first, first_of_queue, keys_only, last_of, ranges, revision},
};

/// An attempt's place, made or not.
pub(crate) struct Entry {
    pub(crate) session: Arc<Session>,
    pub(crate) trips: Arc<Trips>,
    pub(crate) ids: Arc<Ids>,
    pub(crate) id: Id,
    pub(crate) keys: Keys,
    /// The lease that its place is made on.
    pub(crate) carrier: Arc<Carrier>,
    /// Where it stands: there, until it moves.
    pub(crate) standing: Standing,
    /// Whether the carrier is nobody else's.
    pub(crate) is_own_carrier: bool,
    value: String,
    pub(crate) pulse: Arc<Pulse>,
    /// Whether a request that makes the place may still be on its way.
    pub(crate) doubtful: AtomicBool,
    /// Whether it was granted, or somebody undoes it: of both, only one can be.
    settled: AtomicBool,
    /// Whether it was given up, and the store has confirmed so: its key may be somebody else's now.
    pub(crate) is_over: AtomicBool,
}

/// What the store says of an attempt's place.
#[derive(Debug)]
pub(crate) enum Stand {
    /// The first: the lock is ours, since this revision.
    First(i64),
    /// Behind this key of an earlier one, as of a revision.
    Behind {
        own: i64,
        before: Vec<u8>,
        seen: i64,
    },
    /// There is no place of ours.
    Nowhere,
    /// The carrier has ended.
    NoCarrier,
}

impl Entry {
    pub(crate) fn new(
        lock: &EtcdLock,
        seat: Seat,
        request: &AcquireRequest,
        pulse: &Arc<Pulse>,
    ) -> Arc<Self> {
        let (session, attempt) = (&lock.session, request.attempt.id());
        let queue = layout::queue(&session.config.prefix, &request.name);
        let id = lock.ids.take(&queue, attempt);
        let entry = Arc::new(Self {
            keys: Keys::new(&session.config.prefix, &request.name, &id.digits()),
            session: session.clone(),
            trips: lock.trips.clone(),
            ids: lock.ids.clone(),
            id,
            carrier: seat.carrier.clone(),
            standing: Standing::new(seat),
            is_own_carrier: request.renewal == Renewal::None,
            value: Holder::encode_without_token(request),
            pulse: pulse.clone(),
            doubtful: AtomicBool::new(false),
            settled: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        entry.standing.wait(&entry);
        entry
    }

    /// Decides what becomes of the place; whether nobody has before. Whoever grants or undoes it asks
    /// this first.
    pub(crate) fn settle(&self) -> bool {
        !self.settled.swap(true, Ordering::AcqRel)
    }

    /// Whether it is decided what becomes of the place.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire)
    }

    /// Takes the first place or none: writes nothing if the lock is taken. One round trip.
    pub(crate) async fn try_first(&self) -> Result<Stand> {
        let holder = TxnOp::get(&*self.keys.queue, Some(first_of_queue()));
        let txn = Txn::new()
            .when([self.nobody(), self.not_undone()])
            .and_then([self.put(&self.carrier)])
            .or_else([holder]);
        let Some(answer) = self.make(txn).await? else {
            return Ok(Stand::NoCarrier);
        };
        if answer.succeeded {
            return Ok(Stand::First(answer.revision));
        }
        // K9: the place that a lost answer told of is our own.
        let holder = ranges(answer.ops).next().and_then(first);
        match holder.filter(|holder| self.is_own(holder)) {
            Some(own) if self.carries(&own).await? => Ok(Stand::First(own.create_revision())),
            _ => Ok(Stand::Nowhere),
        }
    }

    /// Takes the last place of the queue, unless it has one. One round trip if it is the first, or two.
    pub(crate) async fn queue(&self) -> Result<Stand> {
        // Both in one transaction would cost more than the second one does: most find nobody.
        let free = Txn::new()
            .when([self.nobody(), self.not_undone()])
            .and_then([self.put(&self.carrier)]);
        match self.make(free).await? {
            None => Ok(Stand::NoCarrier),
            Some(found) if found.succeeded => Ok(Stand::First(found.revision)),
            Some(_) => self.queue_behind().await,
        }
    }

    async fn queue_behind(&self) -> Result<Stand> {
        let own = &*self.keys.own;
        let no_place = Compare::create_revision(own, CompareOp::Equal, 0);
        // The last two: our own, which is new, and the one before it.
        let last = TxnOp::get(&*self.keys.queue, Some(last_of(keys_only(), 2)));
        let txn = Txn::new()
            .when([no_place, self.not_undone()])
            .and_then([self.put(&self.carrier), last])
            .or_else([TxnOp::get(own, Some(keys_only()))]);
        let Some(found) = self.make(txn).await? else {
            return Ok(Stand::NoCarrier);
        };
        let (made, seen) = (found.succeeded, found.revision);
        let range = ranges(found.ops).next();
        let range = range.ok_or_else(|| errors::nonsense("no range"))?;
        if made {
            let before = range.kvs().iter().find(|place| !self.is_own(place));
            return Ok(match before {
                Some(before) => Stand::Behind {
                    own: seen,
                    before: before.key().to_vec(),
                    seen,
                },
                None => Stand::First(seen),
            });
        }
        // An earlier try has made it.
        match first(range) {
            Some(own) if self.carries(&own).await? => self.look(own.create_revision()).await,
            _ => Ok(Stand::Nowhere),
        }
    }

    /// Whether the place stands on our carrier, or does so now: an attempt that is made again as a
    /// whole finds the place that the first one made, on another lease.
    async fn carries(&self, own: &KeyValue) -> Result<bool> {
        if own.lease() == self.carrier.id() {
            return Ok(true);
        }
        let made = own.create_revision();
        let is_there = Compare::create_revision(&*self.keys.own, CompareOp::Equal, made);
        let moved = Txn::new()
            .when([is_there])
            .and_then([self.put(&self.carrier)]);
        let moved = self.make(moved).await?;
        Ok(moved.is_some_and(|moved| moved.succeeded))
    }

    /// Looks where it stands that was made in revision `own`, and that it is still there: the lease
    /// may have ended while it waited (T25).
    pub(crate) async fn look(&self, own: i64) -> Result<Stand> {
        self.read(own, keys_only()).await.map(|(stand, _)| stand)
    }

    /// As [`look`](Self::look), when somebody called: what the member knows by itself is enough, as of
    /// a revision in which the place was made. What is not before it then never will be, and what has
    /// gone has gone; while the place is there, it is until its lease ends by the clock.
    pub(crate) async fn look_called(&self, own: i64) -> Result<Stand> {
        match self.read(own, keys_only().with_serializable()).await {
            Ok((stand @ (Stand::First(_) | Stand::Nowhere), seen)) if seen >= own => Ok(stand),
            _ => self.look(own).await,
        }
    }

    /// Where it stands, and in which revision.
    async fn read(&self, own: i64, options: GetOptions) -> Result<(Stand, i64)> {
        let earlier = last_of(options.clone(), 1).with_max_create_revision(own - 1);
        let txn = Txn::new().and_then([
            TxnOp::get(&*self.keys.own, Some(options)),
            TxnOp::get(&*self.keys.queue, Some(earlier)),
        ]);
        let answer = self.session.ask(|client| {
            let txn = txn.clone();
            async move { client.kv_client().txn(txn).await }
        });
        let answer = answer.await?;
        let seen = revision(&answer)?;
        let mut ranges = ranges(answer.op_responses());
        let is_there = ranges
            .next()
            .and_then(first)
            .is_some_and(|place| place.create_revision() == own);
        let before = ranges.next().and_then(first);
        let stand = match before {
            _ if !is_there => Stand::Nowhere,
            Some(before) => Stand::Behind {
                own,
                before: before.key().to_vec(),
                seen,
            },
            None => Stand::First(own),
        };
        Ok((stand, seen))
    }

    /// The compare that holds while the queue is empty.
    fn nobody(&self) -> Compare {
        Compare::create_revision(&*self.keys.queue, CompareOp::Equal, 0).with_prefix()
    }

    /// The compare that fails for a request which comes after the place was given up.
    fn not_undone(&self) -> Compare {
        Compare::create_revision(&*self.keys.never, CompareOp::Equal, 0)
    }

    pub(crate) fn put(&self, carrier: &Carrier) -> TxnOp {
        let lease = PutOptions::new().with_lease(carrier.id());
        TxnOp::put(&*self.keys.own, &*self.value, Some(lease))
    }

    /// Runs what makes the place. Dropped before its end, it leaves the place in doubt.
    ///
    /// `None` if the carrier is gone.
    async fn make(&self, txn: Txn) -> Result<Option<Found>> {
        let is_doubtful = AtomicBool::new(self.doubtful.swap(true, Ordering::AcqRel));
        // After that: whoever takes it away finds it in doubt, or is found here.
        if self.is_settled() {
            return Err(errors::unpolled());
        }
        let queue = self.keys.queue.clone();
        let answer = self.trips.join(Ask::Make { queue, txn }, &is_doubtful);
        let answer = answer.await;
        self.doubtful
            .store(is_doubtful.load(Ordering::Acquire), Ordering::Release);
        if matches!(answer, Ok(None)) {
            self.carrier.is_gone();
        }
        answer
    }

    fn is_own(&self, place: &KeyValue) -> bool {
        place.key() == self.keys.own.as_bytes()
    }
}

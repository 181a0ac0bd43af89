//! One attempt's place in the queue of its name, and the transactions about it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{AcquireRequest, Holder, Renewal, Result, Token};
use etcd_client::{
    Client, Compare, CompareOp, Error as DriverError, GetOptions, GetResponse, KeyValue,
    PutOptions, SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse, TxnResponse,
};

use crate::{
    EtcdLock,
    carrier::Carrier,
    errors,
    ids::{Id, Ids},
    layout::{self, Keys},
    session::Session,
};

/// An attempt's place, made or not.
pub(crate) struct Entry {
    session: Arc<Session>,
    ids: Arc<Ids>,
    id: Id,
    pub(crate) keys: Keys,
    pub(crate) carrier: Arc<Carrier>,
    /// Whether the carrier is nobody else's.
    is_own_carrier: bool,
    value: String,
    /// Whether a request that makes the place may still be on its way.
    doubtful: AtomicBool,
    /// Whether it was given up, and the store has confirmed so: its key may be somebody else's now.
    is_over: AtomicBool,
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
    pub(crate) fn new(lock: &EtcdLock, carrier: Arc<Carrier>, request: &AcquireRequest) -> Self {
        let (session, attempt) = (&lock.session, request.attempt.id());
        let queue = layout::queue(&session.config.prefix, &request.name);
        let id = lock.ids.take(&queue, attempt);
        let one = Token::from(std::num::NonZeroU64::MIN);
        Self {
            keys: Keys::new(&session.config.prefix, &request.name, &id.digits()),
            session: session.clone(),
            ids: lock.ids.clone(),
            id,
            carrier,
            is_own_carrier: request.renewal == Renewal::None,
            value: layout::value(&Holder::of_request(request, one)),
            doubtful: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    /// Takes the first place or none: writes nothing if the lock is taken. One round trip.
    pub(crate) async fn try_first(&self) -> Result<Stand> {
        let queue = &*self.keys.queue;
        let nobody = Compare::create_revision(queue, CompareOp::Equal, 0).with_prefix();
        let holder = TxnOp::get(queue, Some(first_of_queue()));
        let txn = Txn::new()
            .when([nobody, self.not_undone()])
            .and_then([self.put()])
            .or_else([holder]);
        let Some(answer) = self.make(txn).await? else {
            return Ok(Stand::NoCarrier);
        };
        if answer.succeeded() {
            return Ok(Stand::First(revision(&answer)?));
        }
        // K9: the place that a lost answer told of is our own.
        let holder = ranges(&answer).next().and_then(first);
        match holder.filter(|holder| self.is_own(holder)) {
            Some(own) if self.carries(&own).await? => Ok(Stand::First(own.create_revision())),
            _ => Ok(Stand::Nowhere),
        }
    }

    /// Takes the last place of the queue, unless it has one. One round trip.
    pub(crate) async fn queue(&self) -> Result<Stand> {
        let (queue, own) = (&*self.keys.queue, &*self.keys.own);
        let no_place = Compare::create_revision(own, CompareOp::Equal, 0);
        // The last two: our own, which is new, and the one before it.
        let last = TxnOp::get(queue, Some(last_of_queue(2)));
        let behind = Txn::new()
            .when([no_place, self.not_undone()])
            .and_then([self.put(), last])
            .or_else([TxnOp::get(own, Some(keys_only()))]);
        // A queue that is empty is not read: that is what most find, and reading costs.
        let nobody = Compare::create_revision(queue, CompareOp::Equal, 0).with_prefix();
        let txn = Txn::new()
            .when([nobody, self.not_undone()])
            .and_then([self.put()])
            .or_else([TxnOp::txn(behind)]);
        let Some(answer) = self.make(txn).await? else {
            return Ok(Stand::NoCarrier);
        };
        let seen = revision(&answer)?;
        if answer.succeeded() {
            return Ok(Stand::First(seen));
        }
        let nested = answer.op_responses().into_iter().find_map(|op| match op {
            TxnOpResponse::Txn(nested) => Some(nested),
            _ => None,
        });
        let answer = nested.ok_or_else(|| errors::nonsense("no inner transaction"))?;
        if answer.succeeded() {
            let last = ranges(&answer).next();
            let last = last.ok_or_else(|| errors::nonsense("no range"))?;
            let before = last.kvs().iter().find(|place| !self.is_own(place));
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
        match ranges(&answer).next().and_then(first) {
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
        let moved = Txn::new().when([is_there]).and_then([self.put()]);
        let moved = self.make(moved).await?;
        Ok(moved.is_some_and(|moved| moved.succeeded()))
    }

    /// Looks where it stands that was made in revision `own`, and that it is still there: the lease
    /// may have ended while it waited (T25).
    pub(crate) async fn look(&self, own: i64) -> Result<Stand> {
        let earlier = last_of_queue(1).with_max_create_revision(own - 1);
        let txn = Txn::new().and_then([
            TxnOp::get(&*self.keys.own, Some(keys_only())),
            TxnOp::get(&*self.keys.queue, Some(earlier)),
        ]);
        let answer = self.session.ask(|client| {
            let txn = txn.clone();
            async move { client.kv_client().txn(txn).await }
        });
        let answer = answer.await?;
        let mut ranges = ranges(&answer);
        let is_there = ranges
            .next()
            .and_then(first)
            .is_some_and(|place| place.create_revision() == own);
        let before = ranges.next().and_then(first);
        Ok(match before {
            _ if !is_there => Stand::Nowhere,
            Some(before) => Stand::Behind {
                own,
                before: before.key().to_vec(),
                seen: revision(&answer)?,
            },
            None => Stand::First(own),
        })
    }

    /// Gives the place up; success also if it is gone. A request for it that is still on its way
    /// makes none (K4, K9).
    ///
    /// Dropped before its end, it leaves the key in doubt.
    pub(crate) async fn remove(&self) -> Result<()> {
        if self.is_over.load(Ordering::Acquire) {
            return Ok(());
        }
        let was_doubtful = self.doubtful.swap(true, Ordering::AcqRel);
        let is_doubtful = AtomicBool::new(was_doubtful);
        if self.is_own_carrier {
            // Nothing can be put on it after that.
            self.carrier.revoke_noting(&is_doubtful).await?;
        } else if self.carrier.has_ended() {
            // By our own clock, perhaps: a new leader may have kept the lease, and the key, for longer.
            is_doubtful.store(true, Ordering::Release);
        } else {
            self.delete(was_doubtful, &is_doubtful).await?;
        }
        self.doubtful
            .store(is_doubtful.load(Ordering::Acquire), Ordering::Release);
        self.end();
        Ok(())
    }

    /// Whether a request that makes the place may still be on its way.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::Acquire)
    }

    /// It goes on without its attempt, which may stand somewhere else meanwhile: by another key, or
    /// what becomes of this place would become of that one.
    pub(crate) fn part(&self) {
        self.ids.renew(self.id);
    }

    /// There is no place in the store, and none will be made.
    pub(crate) fn end(&self) {
        if self.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.is_doubtful() {
            self.ids.renew(self.id);
        } else {
            self.ids.give_back(&self.keys.queue, self.id);
        }
    }

    async fn delete(&self, was_doubtful: bool, is_doubtful: &AtomicBool) -> Result<()> {
        let own = &*self.keys.own;
        if !was_doubtful {
            let delete =
                |client: Arc<Client>| async move { client.kv_client().delete(own, None).await };
            return self.session.ask_noting(is_doubtful, delete).await.map(drop);
        }
        // It ends with the only lease that the place could be made on; which then soon does (K12).
        self.carrier.retire();
        let lease = PutOptions::new().with_lease(self.carrier.id());
        let marked = Txn::new().and_then([
            TxnOp::put(&*self.keys.never, "", Some(lease)),
            TxnOp::delete(own, None),
        ]);
        let delete = |client: Arc<Client>| {
            let marked = marked.clone();
            async move {
                let mut client = client.kv_client();
                match client.txn(marked).await {
                    Err(error) if errors::is_lease_gone(&error) => Ok(()),
                    // It makes no place either, and must not keep this one (T34).
                    Err(error) if errors::is_full(&error) => {
                        client.delete(own, None).await.map(drop)
                    }
                    answer => answer.map(drop),
                }
            }
        };
        self.session.ask_noting(is_doubtful, delete).await
    }

    /// The compare that fails for a request which comes after the place was given up.
    fn not_undone(&self) -> Compare {
        Compare::create_revision(&*self.keys.never, CompareOp::Equal, 0)
    }

    fn put(&self) -> TxnOp {
        let lease = PutOptions::new().with_lease(self.carrier.id());
        TxnOp::put(&*self.keys.own, &*self.value, Some(lease))
    }

    /// Runs what makes the place. Dropped before its end, it leaves the place in doubt.
    async fn make(&self, txn: Txn) -> Result<Option<TxnResponse>> {
        let is_doubtful = AtomicBool::new(self.doubtful.swap(true, Ordering::AcqRel));
        let answer = self.run(&is_doubtful, txn).await;
        self.doubtful
            .store(is_doubtful.load(Ordering::Acquire), Ordering::Release);
        answer
    }

    /// `None` if the carrier is gone.
    async fn run(&self, doubtful: &AtomicBool, txn: Txn) -> Result<Option<TxnResponse>> {
        let asks = |client: Arc<Client>| {
            let txn = txn.clone();
            async move {
                match client.kv_client().txn(txn).await {
                    Err(error) if errors::is_lease_gone(&error) => Ok::<_, DriverError>(None),
                    answer => answer.map(Some),
                }
            }
        };
        let answer = self.session.ask_noting(doubtful, asks).await?;
        if answer.is_none() {
            self.carrier.is_gone();
        }
        Ok(answer)
    }

    fn is_own(&self, place: &KeyValue) -> bool {
        place.key() == self.keys.own.as_bytes()
    }
}

/// Reads who is first in a queue.
pub(crate) fn first_of_queue() -> GetOptions {
    GetOptions::new()
        .with_prefix()
        .with_sort(SortTarget::Create, SortOrder::Ascend)
        .with_limit(1)
}

fn last_of_queue(limit: i64) -> GetOptions {
    keys_only()
        .with_prefix()
        .with_sort(SortTarget::Create, SortOrder::Descend)
        .with_limit(limit)
}

pub(crate) fn keys_only() -> GetOptions {
    GetOptions::new().with_keys_only()
}

/// What a transaction has read.
pub(crate) fn ranges(answer: &TxnResponse) -> impl Iterator<Item = GetResponse> + use<> {
    answer.op_responses().into_iter().filter_map(|op| match op {
        TxnOpResponse::Get(range) => Some(range),
        _ => None,
    })
}

/// The first of what was read.
pub(crate) fn first(mut range: GetResponse) -> Option<KeyValue> {
    let mut places = range.take_kvs();
    (!places.is_empty()).then(|| places.swap_remove(0))
}

fn revision(answer: &TxnResponse) -> Result<i64> {
    let header = answer
        .header()
        .ok_or_else(|| errors::nonsense("no header"))?;
    Ok(header.revision())
}

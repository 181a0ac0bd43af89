//! The carriers that locks share: one for each ttl, as long as it is used.

use std::{collections::HashMap, sync::Arc, time::Duration};

use dlock_core::{
    Error, Result,
    backend::{AcquireRequest, Renewal},
    toolkit::{Lock, SingleFlight, Turn},
};

use crate::{
    conn::members::Session, errors, lease::etcd_lease::Carrier, lease::keepalive::Kept,
    lease::rpc::whole_seconds, lease::users::Seat,
};

#[derive(Default)]
struct Table {
    /// Those for new attempts, by their ttl in seconds.
    open: HashMap<u64, Shared>,
    /// All that may be in the store.
    all: Vec<Arc<Carrier>>,
}

struct Shared {
    carrier: Arc<Carrier>,
    /// Whether anybody came since the loop looked last.
    came: bool,
}

#[derive(Clone)]
pub(crate) struct Carriers(Arc<Inner>);

struct Inner {
    session: Arc<Session>,
    table: Lock<Table>,
    /// Only one is asked for at a time.
    granting: SingleFlight<()>,
}

impl Carriers {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self(Arc::new(Inner {
            session,
            table: Lock::default(),
            granting: SingleFlight::new(()),
        }))
    }

    /// A seat on the carrier that is there already for such an attempt.
    pub(crate) fn present(&self, ttl: Duration, renewal: Renewal) -> Option<Seat> {
        if renewal == Renewal::None {
            return None;
        }
        let mut table = self.0.table.lock();
        let shared = table.open.get_mut(&whole_seconds(ttl))?;
        if !shared.carrier.is_open() {
            return None;
        }
        shared.came = true;
        Some(Seat::take(&shared.carrier))
    }

    /// A seat for an attempt: on the shared carrier of its ttl, or on one of its own if nobody will
    /// renew it.
    pub(crate) async fn seat(&self, ttl: Duration, renewal: Renewal) -> Result<Seat> {
        if renewal == Renewal::None {
            let own = Carrier::grant(&self.0.session, ttl).await?;
            return Ok(Seat::take(&Arc::new(own)));
        }
        if let Some(present) = self.present(ttl, renewal) {
            return Ok(present);
        }
        let carriers = self.clone();
        let work = move |turn: Turn<()>| async move { turn.finish(carriers.provide(ttl).await) };
        self.0.granting.run(work).await?;
        self.present(ttl, renewal).ok_or_else(errors::lease_ended)
    }

    /// As [`seat`](Self::seat), until the attempt is cancelled.
    pub(crate) async fn seat_for(&self, request: &AcquireRequest) -> Result<Seat> {
        let seat = self.seat(request.ttl, request.renewal);
        if request.renewal == Renewal::None {
            return seat.await;
        }
        // The grant is not cut short by it: its lease would be left behind (T33).
        tokio::select! {
            seat = seat => seat,
            () = request.attempt.cancelled() => Err(Error::cancelled()),
        }
    }

    /// Sees to it that there is a carrier for attempts with this ttl.
    async fn provide(&self, ttl: Duration) -> Result<()> {
        let seconds = whole_seconds(ttl);
        if self.0.has(seconds) {
            return Ok(());
        }
        let ttl = Duration::from_secs(seconds);
        let carrier = Arc::new(Carrier::grant(&self.0.session, ttl).await?);
        let shared = Shared {
            carrier: carrier.clone(),
            came: true,
        };
        let mut table = self.0.table.lock();
        table.open.insert(seconds, shared);
        table.all.push(carrier.clone());
        drop(table);
        tokio::spawn(self.clone().keep(seconds, carrier));
        Ok(())
    }

    /// Keeps a carrier alive as long as it is used, and ends it then.
    async fn keep(self, seconds: u64, carrier: Arc<Carrier>) {
        let kept = tokio::select! {
            kept = carrier.keep(|| self.0.needs(seconds, &carrier)) => kept,
            () = self.0.session.closed() => return,
        };
        self.0.forget(seconds, &carrier);
        if kept == Kept::Unused || !carrier.has_ended() {
            tokio::select! {
                () = carrier.revoke_surely() => {}
                () = self.0.session.closed() => return,
            }
        }
        self.0.is_done(&carrier);
    }

    /// Ends all of them, with all that stands on them.
    pub(crate) async fn revoke_all(&self) -> Result<()> {
        // One that is being granted is among them.
        let after = self
            .0
            .granting
            .run(|turn| async move { turn.finish(Ok(())) });
        let _ = after.await;
        let all = std::mem::take(&mut *self.0.table.lock()).all;
        let mut result = Ok(());
        for carrier in all {
            result = result.and(carrier.revoke().await);
        }
        result
    }
}

impl Inner {
    /// Whether there is a carrier, which is kept then for whoever comes for it.
    fn has(&self, seconds: u64) -> bool {
        let mut table = self.table.lock();
        let shared = table.open.get_mut(&seconds);
        let shared = shared.filter(|shared| shared.carrier.is_open());
        shared.is_some_and(|shared| {
            shared.came = true;
            true
        })
    }

    /// Whether anybody stands on it, or has come since the last question. If not, nobody will.
    fn needs(&self, seconds: u64, carrier: &Arc<Carrier>) -> bool {
        let mut table = self.table.lock();
        let Some(shared) = table.open.get_mut(&seconds) else {
            return carrier.seats.are_taken();
        };
        if !Arc::ptr_eq(&shared.carrier, carrier) {
            return carrier.seats.are_taken();
        }
        if carrier.seats.are_taken() || std::mem::take(&mut shared.came) {
            return true;
        }
        table.open.remove(&seconds);
        false
    }

    fn forget(&self, seconds: u64, carrier: &Arc<Carrier>) {
        let mut table = self.table.lock();
        if table
            .open
            .get(&seconds)
            .is_some_and(|shared| Arc::ptr_eq(&shared.carrier, carrier))
        {
            table.open.remove(&seconds);
        }
    }

    /// The store does not have it any more.
    fn is_done(&self, carrier: &Arc<Carrier>) {
        self.table
            .lock()
            .all
            .retain(|other| !Arc::ptr_eq(other, carrier));
    }
}

//! The carriers that locks share: one for each ttl, as long as it is used.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{AcquireRequest, Error, Renewal, Result, Turns};

use crate::{
    carrier::{Carrier, Kept, whole_seconds},
    session::Session,
};

/// By their ttl in seconds.
type Table = HashMap<u64, Shared>;

struct Shared {
    carrier: Arc<Carrier>,
    /// Whether anybody came since the loop looked last.
    came: bool,
}

#[derive(Clone)]
pub(crate) struct Carriers(Arc<Inner>);

struct Inner {
    session: Arc<Session>,
    table: Mutex<Table>,
    /// Only one is asked for at a time.
    granting: Turns<()>,
}

impl Carriers {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self(Arc::new(Inner {
            session,
            table: Mutex::default(),
            granting: Turns::new(()),
        }))
    }

    /// The carrier that is there already for such an attempt, and now has it on it.
    pub(crate) fn present(&self, request: &AcquireRequest) -> Option<Arc<Carrier>> {
        if request.renewal == Renewal::None {
            return None;
        }
        let mut table = self.0.table();
        let shared = table.get_mut(&whole_seconds(request.ttl))?;
        if shared.carrier.is_over() {
            return None;
        }
        shared.came = true;
        shared.carrier.enter(request.attempt.id());
        Some(shared.carrier.clone())
    }

    /// A carrier with the attempt on it: the shared one of its ttl, or one of its own if nobody will
    /// renew it.
    pub(crate) async fn carrier_for(&self, request: &AcquireRequest) -> Result<Arc<Carrier>> {
        if request.renewal == Renewal::None {
            let own = Carrier::grant(&self.0.session, request.ttl).await?;
            own.enter(request.attempt.id());
            return Ok(Arc::new(own));
        }
        if let Some(present) = self.present(request) {
            return Ok(present);
        }
        // A grant is not cut short: its lease would be left behind (T33).
        let turn = tokio::select! {
            turn = self.0.granting.wait() => turn?,
            () = request.attempt.cancelled() => return Err(Error::contended()),
        };
        if let Some(present) = self.present(request) {
            return Ok(present);
        }
        turn.end(self.grant(request).await)
    }

    async fn grant(&self, request: &AcquireRequest) -> Result<Arc<Carrier>> {
        let seconds = whole_seconds(request.ttl);
        let ttl = Duration::from_secs(seconds);
        let carrier = Arc::new(Carrier::grant(&self.0.session, ttl).await?);
        carrier.enter(request.attempt.id());
        let shared = Shared {
            carrier: carrier.clone(),
            came: true,
        };
        self.0.table().insert(seconds, shared);
        tokio::spawn(self.clone().keep(seconds, carrier.clone()));
        Ok(carrier)
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
                () = self.0.session.closed() => {}
            }
        }
    }

    /// Ends all of them, with all that stands on them.
    pub(crate) async fn revoke_all(&self) -> Result<()> {
        let all = std::mem::take(&mut *self.0.table());
        let mut result = Ok(());
        for shared in all.into_values() {
            result = result.and(shared.carrier.revoke().await);
        }
        result
    }
}

impl Inner {
    /// Whether anybody stands on it, or has come since the last question. If not, nobody will.
    fn needs(&self, seconds: u64, carrier: &Arc<Carrier>) -> bool {
        let mut table = self.table();
        let Some(shared) = table.get_mut(&seconds) else {
            return carrier.is_used();
        };
        if !Arc::ptr_eq(&shared.carrier, carrier) {
            return carrier.is_used();
        }
        if carrier.is_used() || std::mem::take(&mut shared.came) {
            return true;
        }
        table.remove(&seconds);
        false
    }

    fn forget(&self, seconds: u64, carrier: &Arc<Carrier>) {
        let mut table = self.table();
        if table
            .get(&seconds)
            .is_some_and(|shared| Arc::ptr_eq(&shared.carrier, carrier))
        {
            table.remove(&seconds);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

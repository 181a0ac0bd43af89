//! One acquisition: its request, its row, and what it works with.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Error, Holder, Token,
    backend::{AcquireRequest, Lease, SentAt},
};

use crate::{
    acquire::statement::{LockMode, LockStatement},
    config::TokenSource,
    conn::{connection::Connection, pool::Pool},
    epoch::cache::Reader,
    hold::handle::{HeldConnection, Hold},
    keys,
    monitor::Monitor,
    restart_guard::longest_ttl::whole_seconds,
    taken::TakenName,
};

/// A row that is locked, proved to be a hold.
pub(crate) struct Grant {
    pub(crate) token: Token,
    /// The request that the hold counts from.
    pub(crate) sent: SentAt,
}

/// One acquisition of a lock.
pub(crate) struct Acquisition<'a> {
    pub(crate) pool: &'a Arc<Pool>,
    monitor: &'a Arc<Monitor>,
    pub(crate) request: &'a AcquireRequest,
    /// The key of its row.
    pub(crate) row: Vec<u8>,
    pub(crate) taken: TakenName<'a>,
    /// The server ends the hold after so many seconds of silence.
    pub(crate) wait_timeout: u64,
    /// A statement of another client locks the tables, as far as is known.
    is_blocked: AtomicBool,
}

impl<'a> Acquisition<'a> {
    pub(crate) fn new(
        pool: &'a Arc<Pool>,
        monitor: &'a Arc<Monitor>,
        request: &'a AcquireRequest,
    ) -> Self {
        let row = keys::row(&pool.config().prefix, &request.name);
        Self {
            pool,
            monitor,
            request,
            taken: pool.taken.name(&row),
            row,
            wait_timeout: whole_seconds(request.ttl),
            is_blocked: AtomicBool::new(false),
        }
    }

    pub(crate) fn tokens(&self) -> TokenSource {
        self.pool.config().tokens
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        self.pool.config().timeouts.reply
    }

    /// Whether the request of `reader` has to read the epoch, too.
    pub(crate) fn must_read_epoch(
        &self,
        reader: Reader,
        connection: &mut Connection,
        sent: SentAt,
    ) -> bool {
        let start = connection.session.start;
        let epochs = &self.pool.epochs;
        self.tokens() == TokenSource::Epoch
            && epochs.must_read(reader, &mut connection.epoch, start, sent.instant())
    }

    /// The statement that locks the row, on a session that the server ends after `wait_timeout` silent seconds.
    pub(crate) fn statement(
        &self,
        connection: &Connection,
        wait_timeout: u64,
        mode: LockMode,
    ) -> LockStatement<'_> {
        LockStatement {
            row: &self.row,
            product: connection.product,
            tokens: self.tokens(),
            mode,
            wait_timeout: (connection.wait_timeout != wait_timeout).then_some(wait_timeout),
            reads_epoch: false,
        }
    }

    /// Whether a statement of another client locked the tables when that was last checked.
    pub(crate) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }

    /// Records whether the row was found locked, in reply to a request of `sent`.
    pub(crate) fn record_taken(&self, is_taken: bool, sent: SentAt) {
        self.taken.record(is_taken, sent.instant());
    }

    /// Reports what the wait is for: `reason`, or else the row's holder (K6).
    pub(crate) fn report(&self, reason: Option<Error>) {
        let was_blocked = self.is_blocked.swap(reason.is_some(), Ordering::Relaxed);
        match reason {
            Some(error) => {
                if !was_blocked {
                    tracing::warn!(name = %self.request.name, %error, "no grant yet");
                }
                self.request.attempt.report_unavailable(&error);
            }
            None if was_blocked => self.request.attempt.report_contended(),
            None => {}
        }
    }

    /// The lease of a grant, whose session is monitored from now on.
    pub(crate) fn lease(&self, held: HeldConnection, grant: Grant) -> Lease {
        let (request, token) = (self.request, grant.token);
        let holder = Holder::encode(request, Some(token));
        let (attempt, since) = (request.attempt.clone(), grant.sent.instant());
        let hold = Arc::new(Hold::new(attempt, since, self.row.clone(), holder, held));
        self.monitor.add(self.pool, &hold);
        let wait_timeout = Duration::from_secs(self.wait_timeout);
        request.granted(grant.sent, wait_timeout, token, hold)
    }
}

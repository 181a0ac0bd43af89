//! One try to lock a row, what a grant proves, and its undoing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Effect, Error, ErrorKind, Holder, LostCause, Result, Token,
    backend::{AcquireRequest, Lease, SentAt, Wait},
};

use crate::{
    acquire::blocked,
    backend::MySqlLock,
    config::Tokens,
    conn::{
        connection::{Connection, Row, Statement},
        pool::{self, Permit, Pool},
    },
    errors,
    guard::longest_ttl,
    hold::{Beat, HeldConnection, Hold, beat, confirm},
    keys::{self, LOCKS},
    sql::server::{SessionId, number},
    token::{
        committed,
        epoch::{self, Epoch},
    },
};

/// How often a row is made and looked for: somebody may clear old rows at that very moment.
const ROW_TRIES_MAX: usize = 3;

/// How often the epoch is raised for one grant: many may use up the values of one.
const RAISES_MAX: usize = 3;

/// The reply of a grant may have come so late, as a part of the ttl, before the server is asked once
/// more: then the hold counts from that question, and the wait from none (K2).
const LATE_DIVISOR: u32 = 10;

/// One attempt's acquisition.
pub(crate) struct Acquisition<'a> {
    pub(crate) lock: &'a MySqlLock,
    pub(crate) request: &'a AcquireRequest,
    /// The row of its name.
    row: Vec<u8>,
    /// Seconds of silence after which the server ends the hold.
    pub(crate) wait_timeout: u64,
    /// The tables are kept by a statement of somebody else, as far as is known.
    is_behind: AtomicBool,
}

/// The row is locked by somebody else; the connection holds nothing.
pub(crate) struct Contended(pub(crate) HeldConnection);

impl<'a> Acquisition<'a> {
    pub(crate) fn new(lock: &'a MySqlLock, request: &'a AcquireRequest) -> Self {
        Self {
            lock,
            request,
            row: keys::row(&lock.session.config().prefix, &request.name),
            wait_timeout: longest_ttl::whole_seconds(request.ttl),
            is_behind: AtomicBool::new(false),
        }
    }

    pub(crate) fn session(&self) -> &'a Pool {
        &self.lock.session
    }

    /// Locks the row if it is free. A connection that has ended while it was idle is replaced once.
    pub(crate) async fn try_acquire(&self, permit: Permit) -> Result<Result<Lease, Contended>> {
        if let Some(connection) = self.session().reuse() {
            let mut held_connection = HeldConnection { connection, permit };
            match self.lock_row(&mut held_connection).await {
                Ok(found) => return Ok(self.conclude(held_connection, found)),
                Err(error) => {
                    let permit = self.retry_elsewhere(held_connection, error).await?;
                    return self.try_new_connection(permit).await;
                }
            }
        }
        self.try_new_connection(permit).await
    }

    async fn try_new_connection(&self, permit: Permit) -> Result<Result<Lease, Contended>> {
        let connection = self.session().open(self.wait_timeout).await?;
        let mut held_connection = HeldConnection { connection, permit };
        match self.lock_row(&mut held_connection).await {
            Ok(found) => Ok(self.conclude(held_connection, found)),
            Err(error) => {
                let server = held_connection.connection.server;
                drop(held_connection);
                Err(self.undo(server, error).await)
            }
        }
    }

    /// Ends a connection that was idle before. Only one that has ended is worth another try.
    async fn retry_elsewhere(
        &self,
        held_connection: HeldConnection,
        error: Error,
    ) -> Result<Permit> {
        let HeldConnection { connection, permit } = held_connection;
        let server = connection.server;
        drop(connection);
        let is_old = errors::is_session_over(&error) || errors::is_session_moved(&error);
        let error = self.undo(server, error).await;
        if is_old && error.effect() == Effect::None {
            return Ok(permit);
        }
        Err(error)
    }

    /// The error of an attempt whose session is ended; without effect if that is certain.
    async fn undo(&self, server: SessionId, error: Error) -> Error {
        let ended = match self.session().sessions() {
            Ok(sessions) => sessions.end_session(server).await,
            Err(error) => Err(error),
        };
        error.with_effect(ended.map_or(Effect::Unknown, |()| Effect::None))
    }

    fn conclude(
        &self,
        held_connection: HeldConnection,
        found: Option<Grant>,
    ) -> Result<Lease, Contended> {
        match found {
            Some(grant) => Ok(self.lease(held_connection, grant)),
            None => Err(Contended(held_connection)),
        }
    }

    /// Asks without waiting. `None` if the row is taken.
    async fn lock_row(&self, held_connection: &mut HeldConnection) -> Result<Option<Grant>> {
        let connection = &mut held_connection.connection;
        let (clock, request_timeout) = (
            self.request.clock(),
            self.session().config().request_timeout,
        );
        let mut look = RowQuery::First;
        let mut tries = 0;
        loop {
            let (sent, server) = (self.request.sent_now(), connection.server);
            let found =
                blocked::reply_or_reason(self, server, self.request_row(connection, sent, look))
                    .await;
            let found = match found {
                Err(error) if connection.fall_back_to_text(Statement::Lock, &error) => continue,
                found => found?,
            };
            connection.wait_timeout = self.wait_timeout;
            match found {
                RowResult::Locked(answer) => {
                    return self.grant(connection, answer, sent).await.map(Some);
                }
                RowResult::Missing => {
                    tries += 1;
                    if tries > ROW_TRIES_MAX {
                        let why = "the row of this name is deleted again and again";
                        return Err(Error::new(ErrorKind::Unavailable, why));
                    }
                    let row = keys::literal(&self.row);
                    self.session().control()?.make_row(&row).await?;
                }
                RowResult::Contended => {
                    // The statement is undo, the transaction goes on (T61).
                    connection.query(clock, "ROLLBACK", request_timeout).await?;
                    if look == RowQuery::Again || self.request.wait != Wait::Never {
                        return Ok(None);
                    }
                    look = RowQuery::Again;
                }
            }
        }
    }

    /// Sends what locks the row if it is free.
    async fn request_row(
        &self,
        connection: &mut Connection,
        sent: SentAt,
        look: RowQuery,
    ) -> Result<RowResult> {
        let (clock, request_timeout) = (
            self.request.clock(),
            self.session().config().request_timeout,
        );
        let (epochs, boot) = (&self.session().epochs, connection.server.boot);
        let is_known = !epochs.is_old(&mut connection.epoch, boot, sent.instant());
        let is_row_enough = is_known && self.tokens() == Tokens::Epoch && look == RowQuery::First;
        if is_row_enough && connection.is_prepared() && connection.wait_timeout == self.wait_timeout
        {
            return match connection.lock(clock, &self.row, request_timeout).await {
                Ok(Some(serial)) => Ok(RowResult::Locked(LockedRow {
                    serial,
                    epoch: None,
                })),
                Ok(None) => Ok(RowResult::Missing),
                Err(error) if errors::is_contended(&error) => Ok(RowResult::Contended),
                Err(error) => Err(error),
            };
        }
        let mut sql = self.statement(connection, self.wait_timeout, look.how());
        if !is_known {
            self.append_epoch_query(&mut sql);
        }
        if look == RowQuery::Again {
            let row = keys::literal(&self.row);
            sql += &format!("; SELECT 0, 0 FROM {LOCKS} WHERE name = {row}");
        }
        match connection.query(clock, &sql, request_timeout).await {
            Ok(rows) => Ok(match LockedRow::read(&rows, sent)? {
                Some(answer) => RowResult::Locked(answer),
                None if rows.iter().any(|row| row.len() == 2) => RowResult::Contended,
                None => RowResult::Missing,
            }),
            Err(error) if !errors::is_contended(&error) => Err(error),
            Err(_) if look == RowQuery::First => Ok(RowResult::Contended),
            Err(_) => Err(errors::unknown_table_lock()),
        }
    }

    /// What locks the row, on a session that the server ends after `wait_timeout` seconds of silence.
    pub(crate) fn statement(
        &self,
        connection: &Connection,
        wait_timeout: u64,
        how: &str,
    ) -> String {
        let row = keys::literal(&self.row);
        let mut sql = String::new();
        if connection.wait_timeout != wait_timeout {
            sql = format!("SET SESSION {}; ", pool::silence(wait_timeout));
        }
        let serial = match self.tokens() {
            Tokens::Epoch => "UUID_SHORT()",
            Tokens::Committed => "0",
        };
        sql += &format!("SELECT {serial} FROM {LOCKS} WHERE name = {row} FOR UPDATE {how}");
        sql
    }

    /// Seconds in which a waiter whose turn has come has to say that it is there, or the server ends its
    /// session: as long as an answer may take. One whose host vanished must not have the row for a ttl.
    pub(crate) fn confirm_timeout(&self) -> u64 {
        whole_seconds(self.session().config().request_timeout).min(self.wait_timeout)
    }

    /// Whether the tables are kept by a statement of somebody else, as was seen last.
    pub(crate) fn was_blocked(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    /// The wait has `seen` as its reason, or the row's holder.
    pub(crate) fn is_behind(&self, seen: Option<Error>) {
        let was_blocked = self.is_behind.swap(seen.is_some(), Ordering::Relaxed);
        match seen {
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

    /// Reads the epoch behind what locks the row, so that it is from after the grant.
    pub(crate) fn append_epoch_query(&self, sql: &mut String) {
        if self.tokens() == Tokens::Epoch {
            *sql += &format!("; {}", epoch::ask());
        }
    }

    /// What the answer to the question of `sent` proves.
    pub(crate) async fn grant(
        &self,
        connection: &mut Connection,
        answer: LockedRow,
        sent: SentAt,
    ) -> Result<Grant> {
        let clock = self.request.clock();
        // A waiter has little time for it, so it comes first; the hold counts from it (K2).
        let sent = match connection.wait_timeout == self.wait_timeout {
            true => sent,
            false => self.confirm(connection).await?,
        };
        let token = match self.tokens() {
            Tokens::Epoch => self.token_of(connection, answer).await?,
            Tokens::Committed => {
                let (token, epoch) =
                    committed::next(self.session(), connection.server.boot).await?;
                connection.epoch = epoch;
                token
            }
        };
        let boot = connection.server.boot;
        longest_ttl::cover(
            self.session(),
            boot,
            &mut connection.epoch,
            self.wait_timeout,
        )
        .await?;
        let is_late = clock.now().since(sent.instant()) > self.request.ttl / LATE_DIVISOR;
        if !is_late && self.tokens() == Tokens::Epoch {
            return Ok(Grant { token, sent });
        }
        let sent = self.request.sent_now();
        proved(beat(self.session(), connection).await?)?;
        Ok(Grant { token, sent })
    }

    /// Takes a grant that was waited for; what the hold counts from.
    async fn confirm(&self, connection: &mut Connection) -> Result<SentAt> {
        let sent = self.request.sent_now();
        proved(confirm(self.session(), connection, self.wait_timeout).await?)?;
        Ok(sent)
    }

    /// The token of a grant that came with `answer`.
    async fn token_of(&self, connection: &mut Connection, answer: LockedRow) -> Result<Token> {
        let is_read = match answer.epoch {
            Some(epoch) => {
                connection.epoch = epoch;
                true
            }
            None if connection.epoch.is_fresh(self.request.clock().now()) => false,
            None => {
                self.read_epoch(connection).await?;
                true
            }
        };
        if connection.epoch.boot != connection.server.boot {
            return Err(errors::session_moved());
        }
        if is_read {
            self.session().epochs.learn(connection.epoch);
        }
        self.token(connection, answer.serial, is_read).await
    }

    /// The token of the grant that came with `serial`; the epoch is raised if that is due.
    async fn token(
        &self,
        connection: &mut Connection,
        serial: u64,
        is_read: bool,
    ) -> Result<Token> {
        let boot = connection.server.boot;
        if is_read && connection.epoch.is_behind() {
            match epoch::raise(self.session(), boot, &connection.epoch).await {
                Ok(raised) => connection.epoch = raised,
                // It counts as well as before.
                Err(error) => tracing::debug!(%error, "the epoch was not raised"),
            }
        }
        for _ in 0..RAISES_MAX {
            if let Some(token) = connection.epoch.token(serial)? {
                return Ok(token);
            }
            connection.epoch = epoch::raise(self.session(), boot, &connection.epoch).await?;
        }
        let why = "the tokens that dlock_epoch gives are used up again and again";
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    fn tokens(&self) -> Tokens {
        self.session().config().tokens
    }

    async fn read_epoch(&self, connection: &mut Connection) -> Result<()> {
        let (clock, request_timeout) = (
            self.request.clock(),
            self.session().config().request_timeout,
        );
        let asked = clock.now();
        let rows = connection
            .query(clock, &epoch::ask(), request_timeout)
            .await?;
        let row = rows.first().ok_or_else(epoch::no_row)?;
        connection.epoch = Epoch::of(row, asked)?;
        Ok(())
    }

    /// The lease of a grant.
    pub(crate) fn lease(&self, held_connection: HeldConnection, grant: Grant) -> Lease {
        let (request, token) = (self.request, grant.token);
        let holder = Holder::from_request(request, token);
        let held = Hold::new(
            request.attempt.clone(),
            self.row.clone(),
            holder,
            held_connection,
        );
        let held = Arc::new(held);
        self.lock.monitor.watch(&self.lock.session, &held);
        let wait_timeout = Duration::from_secs(self.wait_timeout);
        request.granted(grant.sent, wait_timeout, token, held)
    }
}

/// Never less than `time`.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// Whether the session still holds after the grant.
fn proved(beat: Beat) -> Result<()> {
    match beat {
        Beat::Alive => Ok(()),
        Beat::Lost(LostCause::Demoted) => Err(errors::read_only()),
        Beat::Lost(_) => Err(errors::connection_lost()),
    }
}

/// How a try looks at a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowQuery {
    /// Nearly always enough.
    First,
    /// Once more, at one that is taken: somebody who inspects a free row locks it for an instant. And in
    /// MariaDB a row that is locked and a table that is kept are one error to the first look.
    Again,
}

impl RowQuery {
    fn how(self) -> &'static str {
        match self {
            Self::First => "NOWAIT",
            Self::Again => "SKIP LOCKED",
        }
    }
}

/// What became of a row that was to be locked.
enum RowResult {
    Locked(LockedRow),
    Contended,
    /// There is no such row.
    Missing,
}

/// What a row that was locked said.
pub(crate) struct LockedRow {
    /// The server's next number.
    serial: u64,
    /// The epoch, if that was asked for.
    epoch: Option<Epoch>,
}

impl LockedRow {
    /// The answer to [`Acquisition::statement`], asked at `sent`; `None` if there is no such row.
    pub(crate) fn read(rows: &[Row], sent: SentAt) -> Result<Option<Self>> {
        let Some(locked) = rows.iter().find(|row| row.len() == 1) else {
            return Ok(None);
        };
        let epoch = Epoch::among(rows, sent.instant())?;
        Ok(Some(Self {
            serial: number(locked, 0)?,
            epoch,
        }))
    }
}

/// A row that is locked.
pub(crate) struct Grant {
    token: Token,
    /// What the hold counts from.
    sent: SentAt,
}

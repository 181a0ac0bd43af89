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
        connection::{Link, Row, Statement},
        pool::{self, Seat, Session},
    },
    errors,
    guard::longest_ttl,
    hold::{Beat, Carrier, Held, beat, confirm},
    keys::{self, LOCKS},
    sql::server::{Server, number},
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

/// One attempt's errand.
pub(crate) struct Errand<'a> {
    pub(crate) lock: &'a MySqlLock,
    pub(crate) request: &'a AcquireRequest,
    /// The row of its name.
    row: Vec<u8>,
    /// Seconds of silence after which the server ends the hold.
    pub(crate) silence_max: u64,
    /// The tables are kept by a statement of somebody else, as far as is known.
    is_behind: AtomicBool,
}

/// The row is locked by somebody else; the connection holds nothing.
pub(crate) struct Taken(pub(crate) Carrier);

impl<'a> Errand<'a> {
    pub(crate) fn new(lock: &'a MySqlLock, request: &'a AcquireRequest) -> Self {
        Self {
            lock,
            request,
            row: keys::row(&lock.session.config().prefix, &request.name),
            silence_max: longest_ttl::whole_seconds(request.ttl),
            is_behind: AtomicBool::new(false),
        }
    }

    pub(crate) fn session(&self) -> &'a Session {
        &self.lock.session
    }

    /// Locks the row if it is free. A connection that has ended while it was idle is replaced once.
    pub(crate) async fn try_now(&self, seat: Seat) -> Result<Result<Lease, Taken>> {
        if let Some(link) = self.session().reuse() {
            let mut carrier = Carrier { link, seat };
            match self.ask_now(&mut carrier).await {
                Ok(found) => return Ok(self.conclude(carrier, found)),
                Err(error) => {
                    let seat = self.give_up(carrier, error).await?;
                    return self.try_anew(seat).await;
                }
            }
        }
        self.try_anew(seat).await
    }

    async fn try_anew(&self, seat: Seat) -> Result<Result<Lease, Taken>> {
        let link = self.session().open(self.silence_max).await?;
        let mut carrier = Carrier { link, seat };
        match self.ask_now(&mut carrier).await {
            Ok(found) => Ok(self.conclude(carrier, found)),
            Err(error) => {
                let server = carrier.link.server;
                drop(carrier);
                Err(self.undone(server, error).await)
            }
        }
    }

    /// Ends a connection that was idle before. Only one that has ended is worth another try.
    async fn give_up(&self, carrier: Carrier, error: Error) -> Result<Seat> {
        let Carrier { link, seat } = carrier;
        let server = link.server;
        drop(link);
        let is_old = errors::ends_session(&error) || errors::is_moved(&error);
        let error = self.undone(server, error).await;
        if is_old && error.effect() == Effect::None {
            return Ok(seat);
        }
        Err(error)
    }

    /// The error of an attempt whose session is ended; without effect if that is certain.
    async fn undone(&self, server: Server, error: Error) -> Error {
        let ended = match self.session().sessions() {
            Ok(sessions) => sessions.end_session(server).await,
            Err(error) => Err(error),
        };
        error.with_effect(ended.map_or(Effect::Unknown, |()| Effect::None))
    }

    fn conclude(&self, carrier: Carrier, found: Option<Grant>) -> Result<Lease, Taken> {
        match found {
            Some(grant) => Ok(self.lease(carrier, grant)),
            None => Err(Taken(carrier)),
        }
    }

    /// Asks without waiting. `None` if the row is taken.
    async fn ask_now(&self, carrier: &mut Carrier) -> Result<Option<Grant>> {
        let link = &mut carrier.link;
        let (clock, answer_max) = (self.request.clock(), self.session().config().answer_max);
        let mut look = Look::First;
        let mut tries = 0;
        loop {
            let (sent, server) = (self.request.sent_now(), link.server);
            let found = blocked::heard(self, server, self.ask_row(link, sent, look)).await;
            let found = match found {
                Err(error) if link.goes_on_as_text(Statement::Lock, &error) => continue,
                found => found?,
            };
            link.silence_max = self.silence_max;
            match found {
                Found::Locked(answer) => return self.grant(link, answer, sent).await.map(Some),
                Found::Missing => {
                    tries += 1;
                    if tries > ROW_TRIES_MAX {
                        let why = "the row of this name is deleted again and again";
                        return Err(Error::new(ErrorKind::Unavailable, why));
                    }
                    let row = keys::literal(&self.row);
                    self.session().control()?.make_row(&row).await?;
                }
                Found::Taken => {
                    // The statement is undone, the transaction goes on (T61).
                    link.ask(clock, "ROLLBACK", answer_max).await?;
                    if look == Look::Again || self.request.wait != Wait::Never {
                        return Ok(None);
                    }
                    look = Look::Again;
                }
            }
        }
    }

    /// Sends what locks the row if it is free.
    async fn ask_row(&self, link: &mut Link, sent: SentAt, look: Look) -> Result<Found> {
        let (clock, answer_max) = (self.request.clock(), self.session().config().answer_max);
        let (latest, boot) = (&self.session().latest, link.server.boot);
        let is_known = !latest.is_old(&mut link.epoch, boot, sent.instant());
        let is_row_enough = is_known && self.tokens() == Tokens::Epoch && look == Look::First;
        if is_row_enough && link.is_prepared() && link.silence_max == self.silence_max {
            return match link.lock(clock, &self.row, answer_max).await {
                Ok(Some(serial)) => Ok(Found::Locked(Answer {
                    serial,
                    epoch: None,
                })),
                Ok(None) => Ok(Found::Missing),
                Err(error) if errors::is_taken(&error) => Ok(Found::Taken),
                Err(error) => Err(error),
            };
        }
        let mut sql = self.statement(link, self.silence_max, look.how());
        if !is_known {
            self.add_epoch(&mut sql);
        }
        if look == Look::Again {
            let row = keys::literal(&self.row);
            sql += &format!("; SELECT 0, 0 FROM {LOCKS} WHERE name = {row}");
        }
        match link.ask(clock, &sql, answer_max).await {
            Ok(rows) => Ok(match Answer::read(&rows, sent)? {
                Some(answer) => Found::Locked(answer),
                None if rows.iter().any(|row| row.len() == 2) => Found::Taken,
                None => Found::Missing,
            }),
            Err(error) if !errors::is_taken(&error) => Err(error),
            Err(_) if look == Look::First => Ok(Found::Taken),
            Err(_) => Err(errors::behind_something()),
        }
    }

    /// What locks the row, on a session that the server ends after `silence_max` seconds of silence.
    pub(crate) fn statement(&self, link: &Link, silence_max: u64, how: &str) -> String {
        let row = keys::literal(&self.row);
        let mut sql = String::new();
        if link.silence_max != silence_max {
            sql = format!("SET SESSION {}; ", pool::silence(silence_max));
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
    pub(crate) fn confirm_max(&self) -> u64 {
        whole_seconds(self.session().config().answer_max).min(self.silence_max)
    }

    /// Whether the tables are kept by a statement of somebody else, as was seen last.
    pub(crate) fn was_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    /// The wait has `seen` as its reason, or the row's holder.
    pub(crate) fn is_behind(&self, seen: Option<Error>) {
        let was_behind = self.is_behind.swap(seen.is_some(), Ordering::Relaxed);
        match seen {
            Some(error) => {
                if !was_behind {
                    tracing::warn!(name = %self.request.name, %error, "no grant yet");
                }
                self.request.attempt.report_unavailable(&error);
            }
            None if was_behind => self.request.attempt.report_contended(),
            None => {}
        }
    }

    /// Reads the epoch behind what locks the row, so that it is from after the grant.
    pub(crate) fn add_epoch(&self, sql: &mut String) {
        if self.tokens() == Tokens::Epoch {
            *sql += &format!("; {}", epoch::ask());
        }
    }

    /// What the answer to the question of `sent` proves.
    pub(crate) async fn grant(
        &self,
        link: &mut Link,
        answer: Answer,
        sent: SentAt,
    ) -> Result<Grant> {
        let clock = self.request.clock();
        // A waiter has little time for it, so it comes first; the hold counts from it (K2).
        let sent = match link.silence_max == self.silence_max {
            true => sent,
            false => self.confirm(link).await?,
        };
        let token = match self.tokens() {
            Tokens::Epoch => self.counted(link, answer).await?,
            Tokens::Committed => {
                let (token, epoch) = committed::next(self.session(), link.server.boot).await?;
                link.epoch = epoch;
                token
            }
        };
        let boot = link.server.boot;
        longest_ttl::cover(self.session(), boot, &mut link.epoch, self.silence_max).await?;
        let is_late = clock.now().since(sent.instant()) > self.request.ttl / LATE_DIVISOR;
        if !is_late && self.tokens() == Tokens::Epoch {
            return Ok(Grant { token, sent });
        }
        let sent = self.request.sent_now();
        proved(beat(self.session(), link).await?)?;
        Ok(Grant { token, sent })
    }

    /// Takes a grant that was waited for; what the hold counts from.
    async fn confirm(&self, link: &mut Link) -> Result<SentAt> {
        let sent = self.request.sent_now();
        proved(confirm(self.session(), link, self.silence_max).await?)?;
        Ok(sent)
    }

    /// The token of a grant that came with `answer`.
    async fn counted(&self, link: &mut Link, answer: Answer) -> Result<Token> {
        let is_read = match answer.epoch {
            Some(epoch) => {
                link.epoch = epoch;
                true
            }
            None if link.epoch.is_fresh(self.request.clock().now()) => false,
            None => {
                self.read_epoch(link).await?;
                true
            }
        };
        if link.epoch.boot != link.server.boot {
            return Err(errors::moved());
        }
        if is_read {
            self.session().latest.learn(link.epoch);
        }
        self.token(link, answer.serial, is_read).await
    }

    /// The token of the grant that came with `serial`; the epoch is raised if that is due.
    async fn token(&self, link: &mut Link, serial: u64, is_read: bool) -> Result<Token> {
        let boot = link.server.boot;
        if is_read && link.epoch.is_behind() {
            match epoch::raise(self.session(), boot, &link.epoch).await {
                Ok(raised) => link.epoch = raised,
                // It counts as well as before.
                Err(error) => tracing::debug!(%error, "the epoch was not raised"),
            }
        }
        for _ in 0..RAISES_MAX {
            if let Some(token) = link.epoch.token(serial)? {
                return Ok(token);
            }
            link.epoch = epoch::raise(self.session(), boot, &link.epoch).await?;
        }
        let why = "the tokens that dlock_epoch gives are used up again and again";
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    fn tokens(&self) -> Tokens {
        self.session().config().tokens
    }

    async fn read_epoch(&self, link: &mut Link) -> Result<()> {
        let (clock, answer_max) = (self.request.clock(), self.session().config().answer_max);
        let asked = clock.now();
        let rows = link.ask(clock, &epoch::ask(), answer_max).await?;
        let row = rows.first().ok_or_else(epoch::no_row)?;
        link.epoch = Epoch::of(row, asked)?;
        Ok(())
    }

    /// The lease of a grant.
    pub(crate) fn lease(&self, carrier: Carrier, grant: Grant) -> Lease {
        let (request, token) = (self.request, grant.token);
        let holder = Holder::from_request(request, token);
        let held = Held::new(request.attempt.clone(), self.row.clone(), holder, carrier);
        let held = Arc::new(held);
        self.lock.watcher.watch(&self.lock.session, &held);
        let silence_max = Duration::from_secs(self.silence_max);
        request.granted(grant.sent, silence_max, token, held)
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
        Beat::Lost(_) => Err(errors::gone()),
    }
}

/// How a try looks at a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Nearly always enough.
    First,
    /// Once more, at one that is taken: somebody who inspects a free row locks it for an instant. And in
    /// MariaDB a row that is locked and a table that is kept are one error to the first look.
    Again,
}

impl Look {
    fn how(self) -> &'static str {
        match self {
            Self::First => "NOWAIT",
            Self::Again => "SKIP LOCKED",
        }
    }
}

/// What became of a row that was to be locked.
enum Found {
    Locked(Answer),
    Taken,
    /// There is no such row.
    Missing,
}

/// What a row that was locked said.
pub(crate) struct Answer {
    /// The server's next number.
    serial: u64,
    /// The epoch, if that was asked for.
    epoch: Option<Epoch>,
}

impl Answer {
    /// The answer to [`Errand::statement`], asked at `sent`; `None` if there is no such row.
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

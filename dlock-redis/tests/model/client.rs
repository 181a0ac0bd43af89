//! A client: one connection at a time, one attempt at a time, one request at a time.

use crate::{
    dice::Dice,
    rules::{GUARD, Mutant, Rules, SKEW},
    server::{Command, History, NAMES, Reply, Take},
    units::{Micros, Token},
};

/// How often an attempt is sent whose answers are lost.
const TRIES_MAX: u32 = 3;

/// The time by which a deadline is earlier than the end in the server (K2), without a hundredth of the ttl.
const MARGIN: Micros = 2_000;

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) client: usize,
    pub(crate) server: usize,
    /// The server's process.
    pub(crate) run: u32,
    /// The index of the attempt among the client's.
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) id: u32,
    pub(crate) connection: Connection,
    pub(crate) command: Command,
    pub(crate) sent: Micros,
}

#[derive(Clone, Copy, Debug)]
struct Attempt {
    id: u32,
    name: usize,
    ttl: Micros,
    tries: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) name: usize,
    pub(crate) token: Token,
    /// The index of the grant among all.
    pub(crate) serial: u64,
    deadline: Micros,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Idle,
    Taking,
    Held(Hold),
    Freeing,
}

/// The effect of a reply on its client.
pub(crate) enum Learned {
    Nothing,
    /// The client holds a lock now.
    Granted,
    Renewed,
    /// The connection is abandoned: the server does not grant any more.
    Demoted,
}

pub(crate) struct Client {
    pub(crate) connection: Connection,
    /// The history that the server behind the connection reported, and when the server grants.
    checked: Option<(History, Micros)>,
    /// The highest token that it was given.
    highest: Token,
    /// The time by which its estimate of the server's clock is ahead.
    ahead: Micros,
    /// How soon it releases what it holds: a share.
    leaves: f64,
    attempt: Attempt,
    phase: Phase,
    open: Option<u32>,
}

impl Client {
    pub(crate) fn new(connection: Connection, dice: &mut Dice) -> Self {
        Self {
            connection,
            checked: None,
            highest: 0,
            ahead: dice.between(-SKEW, SKEW),
            leaves: dice.one_of(&[0.02, 0.1, 0.4]),
            attempt: Attempt {
                id: 0,
                name: 0,
                ttl: GUARD,
                tries: 0,
            },
            phase: Phase::Idle,
            open: None,
        }
    }

    pub(crate) fn hold(&self) -> Option<Hold> {
        match self.phase {
            Phase::Held(hold) => Some(hold),
            _ => None,
        }
    }

    pub(crate) fn waits_for(&self, request: u32) -> bool {
        self.open == Some(request)
    }

    pub(crate) fn sends(&mut self, request: u32) {
        self.open = Some(request);
    }

    /// Time has passed. A lock that is lost is released, too (K8).
    pub(crate) fn tick(&mut self, now: Micros) {
        if self.hold().is_some_and(|hold| hold.deadline <= now) {
            self.phase = Phase::Freeing;
        }
    }

    /// Goes on over another connection, of which it knows nothing yet.
    pub(crate) fn connect(&mut self, connection: Connection) {
        self.connection = connection;
        self.checked = None;
        if self.open.take().is_some() {
            self.attempt.tries += 1;
        }
        if matches!(self.phase, Phase::Taking) && self.attempt.tries >= TRIES_MAX {
            self.phase = Phase::Freeing;
        }
    }

    /// For how long it must not request the lock that it wants.
    pub(crate) fn guarded(&self, now: Micros) -> Option<Micros> {
        let wants = matches!(self.phase, Phase::Idle | Phase::Taking) && self.open.is_none();
        let (_, grants_from) = self.checked?;
        (wants && now < grants_from).then_some(grants_from - now)
    }

    /// The next request, if there is one; `fresh` is the number of an attempt that begins.
    pub(crate) fn next_command(
        &mut self,
        now: Micros,
        fresh: u32,
        dice: &mut Dice,
        rules: &Rules,
    ) -> Option<Command> {
        if self.open.is_some() {
            return None;
        }
        let least = self.highest + 1;
        let Some((history, grants_from)) = self.checked else {
            return Some(Command::ReadHistory { least });
        };
        let Attempt { id, name, ttl, .. } = self.attempt;
        let (attempt, dicing) = (id, dice.share());
        match self.phase {
            Phase::Idle | Phase::Taking if now < grants_from => None,
            Phase::Idle => {
                self.begin(fresh, dice, rules);
                self.phase = Phase::Taking;
                self.next_command(now, fresh, dice, rules)
            }
            Phase::Taking => Some(Command::Take(Take {
                attempt,
                name,
                ttl,
                least,
                history,
                carried: now + self.ahead,
            })),
            Phase::Held(_) if dicing < 0.4 => Some(Command::Renew { attempt, name, ttl }),
            Phase::Held(_) if dicing < 0.4 + self.leaves => {
                self.phase = Phase::Freeing;
                Some(Command::Release { attempt, name })
            }
            Phase::Held(_) => None,
            Phase::Freeing => Some(Command::Release { attempt, name }),
        }
    }

    fn begin(&mut self, id: u32, dice: &mut Dice, rules: &Rules) {
        let ttl = dice.one_of(&[GUARD / 4, GUARD / 2, GUARD]);
        self.attempt = Attempt {
            id,
            name: dice.below(NAMES),
            ttl: if rules.is(Mutant::TtlAboveGuard) {
                3 * ttl
            } else {
                ttl
            },
            tries: 0,
        };
    }

    /// The deadline of what this request proved.
    fn deadline(&self, request: &Request, now: Micros, rules: &Rules) -> Micros {
        let from = if rules.is(Mutant::DeadlineFromReply) {
            now
        } else {
            request.sent
        };
        from + self.attempt.ttl / 100 * 99 - MARGIN
    }

    /// The answer to what it waits for.
    pub(crate) fn hears(
        &mut self,
        request: &Request,
        reply: Reply,
        now: Micros,
        dice: &mut Dice,
        rules: &Rules,
    ) -> Learned {
        self.open = None;
        let deadline = self.deadline(request, now, rules);
        match (reply, self.phase) {
            (Reply::ReadOnly | Reply::Forgotten, _) => return Learned::Demoted,
            (Reply::History { history, clock }, _) => {
                // It may have begun in the future: clocks are set back.
                let age = (clock - history.since).max(0);
                self.checked = Some((history, now + (GUARD - age).max(0)));
            }
            (Reply::Granted { token, serial }, Phase::Taking) => {
                self.highest = self.highest.max(token);
                let name = self.attempt.name;
                self.phase = Phase::Held(Hold {
                    name,
                    token,
                    serial,
                    deadline,
                });
                self.tick(now);
                if self.hold().is_some() {
                    return Learned::Granted;
                }
            }
            (Reply::Taken, Phase::Taking) if dice.chance(0.5) => self.phase = Phase::Idle,
            (Reply::Renewed(true), Phase::Held(hold)) => {
                self.phase = Phase::Held(Hold { deadline, ..hold });
                self.tick(now);
                if self.hold().is_some() {
                    return Learned::Renewed;
                }
            }
            (Reply::Renewed(false), Phase::Held(_)) => self.phase = Phase::Freeing,
            (Reply::Released, Phase::Freeing) => self.phase = Phase::Idle,
            _ => {}
        }
        Learned::Nothing
    }
}

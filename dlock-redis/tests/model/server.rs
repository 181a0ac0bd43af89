//! One server: its data, and the scripts as it runs them, each at once.

use std::collections::VecDeque;

use crate::{
    rules::{AHEAD, FRESH, GUARD, Mutant, Rules},
    units::{Micros, Token},
};

pub(crate) const NAMES: usize = 2;

/// So many writes a replica may be behind.
const LAG_MAX: usize = 12;

/// Since when the data remember all that was granted, by whose clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    pub(crate) since: Micros,
    run: u32,
    /// Another one after each promotion, too.
    life: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    attempt: u32,
    pub(crate) token: Token,
    ends: Micros,
    /// The number of the command that granted it.
    pub(crate) serial: u64,
}

/// All keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Data {
    record: Option<History>,
    /// The last token that was given.
    counter: Option<Token>,
    locks: [Option<Lock>; NAMES],
}

/// The request to take a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take {
    pub(crate) attempt: u32,
    pub(crate) name: usize,
    pub(crate) ttl: Micros,
    /// Above all tokens that the client was given.
    pub(crate) least: Token,
    /// The history that the client has read.
    pub(crate) history: History,
    /// The client's estimate of the server's clock.
    pub(crate) carried: Micros,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    ReadHistory {
        least: Token,
    },
    Take(Take),
    Renew {
        attempt: u32,
        name: usize,
        ttl: Micros,
    },
    Release {
        attempt: u32,
        name: usize,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    /// The server is a replica now.
    ReadOnly,
    History {
        history: History,
        clock: Micros,
    },
    Granted {
        token: Token,
        serial: u64,
    },
    Taken,
    Forgotten,
    Renewed(bool),
    Released,
}

pub(crate) struct Server {
    pub(crate) is_primary: bool,
    /// Which process it is.
    pub(crate) run: u32,
    pub(crate) life: u32,
    /// When it was promoted.
    pub(crate) promoted: Micros,
    /// The time by which the server's clock is ahead.
    pub(crate) ahead: Micros,
    data: Data,
    past: VecDeque<Data>,
}

impl Server {
    pub(crate) fn new(run: u32, ahead: Micros, is_primary: bool) -> Self {
        Self {
            is_primary,
            run,
            life: run,
            promoted: 0,
            ahead,
            data: Data::default(),
            past: VecDeque::new(),
        }
    }

    pub(crate) fn data(&self) -> Data {
        self.data
    }

    /// The former states that a replica, or the disk, may have: the last is the newest.
    pub(crate) fn past(&self) -> &VecDeque<Data> {
        &self.past
    }

    /// Replaces the data by `data`, from elsewhere.
    pub(crate) fn load(&mut self, data: Data) {
        self.data = data;
        self.past.clear();
    }

    pub(crate) fn lock(&self, name: usize) -> Option<Lock> {
        self.data.locks[name]
    }

    pub(crate) fn flush(&mut self) {
        self.data = Data::default();
    }

    pub(crate) fn lose_counter(&mut self) {
        self.data.counter = None;
    }

    pub(crate) fn lose_record(&mut self) {
        self.data.record = None;
    }

    pub(crate) fn lose_lock(&mut self, name: usize) {
        self.data.locks[name] = None;
    }

    /// Another client takes or frees the lock with plain commands.
    pub(crate) fn foreign(&mut self, name: usize, now: Micros, ttl: Micros) {
        let ends = now + self.ahead + ttl;
        self.expire(now + self.ahead);
        match self.data.locks[name] {
            None => {
                self.data.locks[name] = Some(Lock {
                    attempt: 0,
                    token: 0,
                    ends,
                    serial: 0,
                });
            }
            Some(Lock { attempt: 0, .. }) => self.lose_lock(name),
            Some(_) => {}
        }
    }

    /// Runs one script; `serial` is its number.
    pub(crate) fn run(
        &mut self,
        command: Command,
        now: Micros,
        serial: u64,
        rules: &Rules,
    ) -> Reply {
        if !self.is_primary {
            return Reply::ReadOnly;
        }
        self.past.push_back(self.data);
        if self.past.len() > LAG_MAX {
            self.past.pop_front();
        }
        let clock = now + self.ahead;
        self.expire(clock);
        match command {
            Command::ReadHistory { least } => self.read_history(least, clock, rules),
            Command::Take(take) => self.take(&take, clock, serial, rules),
            Command::Renew { attempt, name, ttl } => {
                let lock = self.data.locks[name].as_mut();
                let ours =
                    lock.filter(|lock| lock.attempt == attempt || rules.is(Mutant::RenewalByName));
                let held = ours.is_some();
                if let Some(lock) = ours {
                    lock.ends = clock + ttl;
                }
                Reply::Renewed(held)
            }
            Command::Release { attempt, name } => {
                self.data.locks[name]
                    .take_if(|lock| lock.attempt == attempt || rules.is(Mutant::BlindRelease));
                Reply::Released
            }
        }
    }

    fn expire(&mut self, clock: Micros) {
        for lock in &mut self.data.locks {
            lock.take_if(|lock| lock.ends <= clock);
        }
    }

    fn is_of_this_run(&self, history: &History, rules: &Rules) -> bool {
        // A server that forgot its promotion takes each record of its process for its own.
        let is_same = history.life == self.life || self.life == self.run;
        history.run == self.run && (is_same || rules.is(Mutant::RunOnly))
    }

    /// Finds the present history, or begins one.
    fn read_history(&mut self, least: Token, clock: Micros, rules: &Rules) -> Reply {
        let found = self.data.record;
        let ours =
            found.filter(|found| self.is_of_this_run(found, rules) && found.since <= clock + AHEAD);
        let counts = self.data.counter.is_some() || rules.is(Mutant::CounterNotChecked);
        if let Some(history) = ours
            && counts
        {
            return Reply::History { history, clock };
        }
        let at_once = match found {
            None => rules.is(Mutant::NoGuardAfterLoss),
            Some(_) => ours.is_none() && rules.is(Mutant::NoGuardAfterRun),
        };
        let history = History {
            since: if at_once { clock - GUARD } else { clock },
            run: self.run,
            life: self.life,
        };
        let counter = self.data.counter.unwrap_or_default();
        self.data.record = Some(history);
        self.data.counter = Some(counter.max(clock).max(least));
        Reply::History { history, clock }
    }

    /// Whether the data are those that `history` was read from.
    fn has_history(&self, history: History, rules: &Rules) -> bool {
        let has_record = self.data.record == Some(history) || rules.is(Mutant::HistoryNotCompared);
        let has_counter = self.data.counter.is_some();
        (has_record && has_counter) || rules.is(Mutant::NoHistory)
    }

    /// Whether this server has been the primary all the time since then.
    fn remained(&self, history: History, clock: Micros, rules: &Rules) -> bool {
        let counter = self.data.counter.unwrap_or_default();
        let is_fresh = (clock - FRESH..=clock).contains(&counter);
        is_fresh
            || self.is_of_this_run(&history, rules)
            || rules.is(Mutant::NeverChecksAgain)
            || rules.is(Mutant::NoHistory)
    }

    fn take(&mut self, take: &Take, clock: Micros, serial: u64, rules: &Rules) -> Reply {
        if !self.has_history(take.history, rules) {
            return Reply::Forgotten;
        }
        let remained = self.remained(take.history, clock, rules);
        if !remained && !rules.is(Mutant::CounterNotRestored) {
            return Reply::Forgotten;
        }
        let mut token = self.data.counter.map_or(clock, |counter| counter + 1);
        if rules.is(Mutant::CarriedClock) {
            token = token.max(take.carried);
        } else if !rules.is(Mutant::NoClock) {
            token = token.max(clock);
        }
        if !rules.is(Mutant::NoLeast) {
            token = token.max(take.least);
        }
        self.data.counter = Some(token);
        if !remained {
            return Reply::Forgotten;
        }
        let lock = Lock {
            attempt: take.attempt,
            token,
            ends: clock + take.ttl,
            serial,
        };
        self.grant(take.name, lock, rules)
    }

    fn grant(&mut self, name: usize, lock: Lock, rules: &Rules) -> Reply {
        let held = self.data.locks[name].get_or_insert(lock);
        if held.attempt != lock.attempt {
            return Reply::Taken;
        }
        if !rules.is(Mutant::RetryKeepsEnd) {
            held.ends = lock.ends;
        }
        let drawn = rules.is(Mutant::RetryDrawsToken);
        Reply::Granted {
            token: if drawn { lock.token } else { held.token },
            serial: held.serial,
        }
    }
}

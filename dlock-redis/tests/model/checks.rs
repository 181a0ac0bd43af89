//! The rules that every walk must keep.

use std::{collections::HashMap, fmt};

use crate::{
    rules::{GUARD, Setting},
    units::{Micros, Token},
};

/// The time until a server says whether a lock is free when nothing goes wrong. It is the guard, the ttl of what
/// was taken before, and some requests.
const SETTLES_MAX: Micros = 8 * GUARD;

/// A rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    /// Two hold one name (K1).
    Exclusion,
    /// Tokens of a name do not grow in the order of its grants (K5).
    Tokens,
    /// One grant of an attempt, two tokens (K5).
    Same,
    /// Nothing fails any more, and no client learns whether a lock is free (K6).
    Progress,
    /// The key shows another token than its holder has.
    Inspected,
}

/// How, in words.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) clause: Clause,
    how: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.clause, self.how)
    }
}

/// A grant that its client took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub(crate) client: usize,
    pub(crate) name: usize,
    pub(crate) token: Token,
    /// The index of the grant in the order of grants.
    pub(crate) serial: u64,
}

/// The grants of a walk so far.
pub(crate) struct Checks {
    setting: Setting,
    grants: Vec<Grant>,
    /// The servers' reply to each grant, by its index.
    answered: HashMap<u64, Token>,
}

impl Checks {
    pub(crate) fn new(setting: Setting) -> Self {
        Self {
            setting,
            grants: Vec::new(),
            answered: HashMap::new(),
        }
    }

    pub(crate) fn grants(&self) -> usize {
        self.grants.len()
    }

    /// A server answered an attempt, whether or not the answer arrives.
    pub(crate) fn answers(&mut self, serial: u64, token: Token) -> Result<(), Violation> {
        let first = *self.answered.entry(serial).or_insert(token);
        broken_if(first != token, Clause::Same, || {
            format!("grant {serial} has the token {first}, then {token}")
        })
    }

    /// A client holds a lock while `others` hold the name, too.
    pub(crate) fn holds(&self, client: usize, others: &[usize]) -> Result<(), Violation> {
        let is_broken = self.setting.excludes() && !others.is_empty();
        broken_if(is_broken, Clause::Exclusion, || {
            format!("client {client} holds what {others:?} hold")
        })
    }

    /// A client was granted a lock.
    pub(crate) fn granted(&mut self, new: Grant) -> Result<(), Violation> {
        let all = self.setting.orders_all();
        let mut rivals = self.grants.iter().filter(|old| {
            old.name == new.name
                && (all || old.client == new.client)
                && old.serial.cmp(&new.serial) != old.token.cmp(&new.token)
        });
        let rival = rivals.next().copied();
        self.grants.push(new);
        broken_if(rival.is_some(), Clause::Tokens, || {
            format!("{new:?} against {rival:?}")
        })
    }

    /// For how long nothing has gone wrong, and no server has said whether a lock is free.
    pub(crate) fn settles(&self, time: Micros) -> Result<(), Violation> {
        broken_if(time > SETTLES_MAX, Clause::Progress, || {
            format!("no lock was granted or taken for {time} us")
        })
    }

    /// The key shows this token, and its holder has that one.
    pub(crate) fn shows(shown: Token, token: Token) -> Result<(), Violation> {
        broken_if(shown != token, Clause::Inspected, || {
            format!("the key shows {shown}, its holder has {token}")
        })
    }
}

fn broken_if(
    is_broken: bool,
    clause: Clause,
    how: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if is_broken {
        return Err(Violation { clause, how: how() });
    }
    Ok(())
}

//! `acquire.lua`: acquires locks.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use dlock_core::{Result, Token};
use redis::{Cmd, Value};

use crate::{
    errors,
    keys::{Format, Keys},
    scripts::script::{Form, LockScript, NUMBER_MAX, Script, items},
};

static ACQUIRE: LazyLock<LockScript> = LazyLock::new(|| LockScript {
    strings: Script::new(concat!(
        include_str!("strings.lua"),
        include_str!("promotion.lua"),
        include_str!("acquire.lua")
    )),
    hashes: Script::new(concat!(
        include_str!("hashes.lua"),
        include_str!("promotion.lua"),
        include_str!("acquire.lua")
    )),
});

/// The arguments of each lock.
const PER_LOCK: usize = 2;

/// At the end of a value: the release is to be published.
const PUBLISHED: &str = "\n";

/// A lock to acquire.
pub(crate) struct AcquireItem {
    pub(crate) keys: Arc<Keys>,
    /// The ttl, in milliseconds.
    pub(crate) ttl: u64,
    /// The holder, without a token: [`dlock_core::Holder::encode`].
    pub(crate) holder: String,
    pub(crate) waits: Waits,
}

/// The waiters of a lock: whether its release is to be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The attempt ends if the lock is taken.
    Never,
    /// The attempt waits if the lock is taken.
    IfTaken,
    /// Others wait, too, and some of them make a pause now: they need to hear of the release.
    WithOthers,
}

/// Locks to acquire in one command.
#[derive(Clone, Copy)]
pub(crate) struct AcquireCall<'a> {
    /// The key of their token counter.
    pub(crate) counter: &'a str,
    pub(crate) items: &'a [AcquireItem],
    pub(crate) format: Format,
    /// Whether a missing counter is created. If not, a missing one means lost data.
    pub(crate) creates_counter: bool,
}

/// The conditions that the script verifies before it grants.
pub(crate) struct GrantCheck<'a> {
    /// The keys that may have the record of the server's history.
    pub(crate) record_keys: &'a [String],
    /// The record that one of them must have.
    pub(crate) record: &'a str,
    /// The least token to grant: above all that this client was given, as a clock may be behind (K5).
    pub(crate) least_token: u64,
}

/// The server's answer for one lock.
pub(crate) enum Outcome {
    /// Granted, with this value in the server.
    Granted(Token, String),
    Contended(Contended),
}

/// A lock that another holder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contended {
    /// The time until the lock expires if it is not renewed; `None` for a key without a ttl.
    pub(crate) expires_in: Option<Duration>,
    /// Whether a dlock client holds it, which publishes its release.
    pub(crate) by_dlock: bool,
}

impl AcquireItem {
    /// The value that the script writes for a grant with this token to an attempt among no other waiters.
    pub(crate) fn value(&self, token: Token) -> String {
        let (attempt, rest) = self.holder.split_once(' ').unwrap_or((&self.holder, ""));
        let mut digits = itoa::Buffer::new();
        [attempt, " ", digits.format(token.get()), " ", rest].concat()
    }
}

impl AcquireCall<'_> {
    pub(super) fn key(&self) -> &str {
        self.items.first().map_or("", |item| &item.keys.lock)
    }

    pub(super) fn render(&self, form: Form, check: &GrantCheck<'_>) -> Cmd {
        let of_item =
            |item: &AcquireItem| item.keys.lock.len() + item.holder.len() + 2 * NUMBER_MAX;
        let bytes = self.items.iter().map(of_item).sum::<usize>()
            + self.counter.len()
            + check.record_keys.iter().map(String::len).sum::<usize>()
            + check.record.len()
            + 2 * NUMBER_MAX;
        let args = 4 + PER_LOCK * self.items.len() + check.record_keys.len();
        let script = ACQUIRE.of(self.format);
        let mut command = script.command(form, 1 + self.items.len(), args, bytes);
        command.arg(self.counter);
        for item in self.items {
            command.arg(&item.keys.lock);
        }
        command.arg(check.record);
        command
            .arg(u8::from(self.creates_counter))
            .arg(check.least_token);
        let waits = |item: &AcquireItem| {
            if item.waits == Waits::Never {
                b'0'
            } else {
                b'1'
            }
        };
        let waiting: Vec<u8> = self.items.iter().map(waits).collect();
        command.arg(waiting);
        for item in self.items {
            match item.waits {
                Waits::WithOthers if !self.format.has_hashes() => {
                    command.arg([&item.holder, PUBLISHED].concat())
                }
                _ => command.arg(&item.holder),
            };
            command.arg(item.ttl);
        }
        command.arg(check.record_keys);
        command
    }

    /// The outcome of each lock.
    pub(crate) fn parse(&self, reply: Value) -> Result<Vec<Result<Outcome>>> {
        if let Value::Int(token) = reply {
            return Ok(self.items.iter().map(|item| granted(token, item)).collect());
        }
        let replies = items(reply, self.items.len())?.into_iter();
        let of_items = replies.zip(self.items);
        Ok(of_items.map(|(reply, item)| outcome(reply, item)).collect())
    }
}

fn granted(token: i64, item: &AcquireItem) -> Result<Outcome> {
    let token = u64::try_from(token).ok().and_then(Token::new);
    let token = token.ok_or_else(|| errors::unexpected_reply("a token that is not positive"))?;
    Ok(Outcome::Granted(token, item.value(token)))
}

fn outcome(reply: Value, item: &AcquireItem) -> Result<Outcome> {
    if let Value::Int(token) = reply {
        return granted(token, item);
    }
    if let Value::Array(words) = &reply
        && let [Value::Int(millis), Value::Int(by_dlock)] = &words[..]
    {
        return Ok(Outcome::Contended(Contended {
            // Negative if the key has no ttl.
            expires_in: u64::try_from(*millis).ok().map(Duration::from_millis),
            by_dlock: *by_dlock == 1,
        }));
    }
    Err(errors::of_item(&reply))
}

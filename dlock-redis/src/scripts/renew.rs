//! `renew.lua`: renews locks.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use dlock_core::{AttemptId, Result};
use redis::{Cmd, RedisWrite as _, Value};

use crate::{
    errors,
    keys::{Format, Keys},
    scripts::script::{Form, LockScript, NUMBER_MAX, Script, millis},
};

static RENEW: LazyLock<LockScript> = LazyLock::new(|| LockScript {
    strings: Script::new(concat!(
        include_str!("strings.lua"),
        include_str!("renew.lua")
    )),
    hashes: Script::new(concat!(
        include_str!("hashes.lua"),
        include_str!("renew.lua")
    )),
});

/// A lock to renew.
pub(crate) struct RenewItem {
    pub(crate) keys: Arc<Keys>,
    pub(crate) id: AttemptId,
    pub(crate) ttl: Duration,
}

/// Locks to renew in one command.
#[derive(Clone, Copy)]
pub(crate) struct RenewCall<'a> {
    pub(crate) items: &'a [RenewItem],
    pub(crate) format: Format,
}

/// The server's answer for one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RenewOutcome {
    /// The attempt has the lock, which is renewed.
    Held,
    /// The key does not exist.
    Gone,
    /// Another holder has the key.
    Taken,
}

impl RenewCall<'_> {
    pub(super) fn key(&self) -> &str {
        self.items.first().map_or("", |item| &item.keys.lock)
    }

    pub(super) fn render(&self, form: Form) -> Cmd {
        let of_item = |item: &RenewItem| item.keys.lock.len() + 2 * NUMBER_MAX;
        let bytes = self.items.iter().map(of_item).sum();
        let script = RENEW.of(self.format);
        let mut command = script.command(form, self.items.len(), 2 * self.items.len(), bytes);
        for item in self.items {
            command.arg(&item.keys.lock);
        }
        for item in self.items {
            command.write_arg_fmt(item.id);
            command.arg(millis(item.ttl));
        }
        command
    }

    /// The outcome of each lock.
    pub(crate) fn parse(&self, reply: Value) -> Result<Vec<RenewOutcome>> {
        let found: Vec<i64> = redis::from_redis_value(reply).map_err(errors::unexpected_reply)?;
        if found.len() != self.items.len() {
            return Err(errors::unexpected_reply("a reply of another length"));
        }
        let outcomes = found.into_iter().map(|found| match found {
            1 => RenewOutcome::Held,
            0 => RenewOutcome::Gone,
            _ => RenewOutcome::Taken,
        });
        Ok(outcomes.collect())
    }
}

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
    scripts::script::{Form, LockScript, NUMBER_MAX, Script, items, millis},
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
    pub(crate) fn parse(&self, reply: Value) -> Result<Vec<Result<RenewOutcome>>> {
        let items = items(reply, self.items.len())?;
        Ok(items.into_iter().map(renewed).collect())
    }
}

fn renewed(item: Value) -> Result<RenewOutcome> {
    match item {
        Value::Int(1) => Ok(RenewOutcome::Held),
        Value::Int(0) => Ok(RenewOutcome::Gone),
        Value::Int(_) => Ok(RenewOutcome::Taken),
        // Unknown, not lost (K3).
        other => Err(errors::of_item(&other)),
    }
}

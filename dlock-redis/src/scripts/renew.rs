//! `renew.lua`: renews locks.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use dlock_core::{AttemptId, Result};
use redis::{Cmd, RedisWrite as _, Value};

use crate::{
    errors,
    keys::Keys,
    scripts::script::{Form, NUMBER_MAX, Script, millis},
};

static RENEW: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("renew.lua")));

/// A lock to renew.
pub(crate) struct RenewItem {
    pub(crate) keys: Arc<Keys>,
    pub(crate) id: AttemptId,
    pub(crate) ttl: Duration,
}

/// Locks to renew in one command.
#[derive(Clone, Copy)]
pub(crate) struct RenewCall<'a>(pub(crate) &'a [RenewItem]);

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
        self.0.first().map_or("", |item| &item.keys.lock)
    }

    pub(super) fn render(&self, form: Form) -> Cmd {
        let of_item = |item: &RenewItem| item.keys.lock.len() + 2 * NUMBER_MAX;
        let bytes = self.0.iter().map(of_item).sum();
        let mut command = RENEW.command(form, self.0.len(), 2 * self.0.len(), bytes);
        for item in self.0 {
            command.arg(&item.keys.lock);
        }
        for item in self.0 {
            command.write_arg_fmt(item.id);
            command.arg(millis(item.ttl));
        }
        command
    }

    /// The outcome of each lock.
    pub(crate) fn parse(&self, reply: Value) -> Result<Vec<RenewOutcome>> {
        let found: Vec<i64> = redis::from_redis_value(reply).map_err(errors::unexpected_reply)?;
        if found.len() != self.0.len() {
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

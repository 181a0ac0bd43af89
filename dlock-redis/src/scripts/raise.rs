//! `raise.lua`: raises the token counter.

use std::sync::{Arc, LazyLock};

use dlock_core::{AttemptId, Result, Token};
use redis::{Cmd, RedisWrite as _, Value};

use crate::{
    errors,
    keys::{Format, Keys},
    scripts::script::{Form, LockScript, NUMBER_MAX, Script, items},
};

static RAISE: LazyLock<LockScript> = LazyLock::new(|| LockScript {
    strings: Script::new(concat!(
        include_str!("strings.lua"),
        include_str!("raise.lua")
    )),
    hashes: Script::new(concat!(
        include_str!("hashes.lua"),
        include_str!("raise.lua")
    )),
});

/// A lock that an attempt holds, and the token that the counter is raised to.
pub(crate) struct RaiseItem {
    pub(crate) keys: Arc<Keys>,
    pub(crate) id: AttemptId,
    pub(crate) token: Token,
}

/// Raises the token counter while attempts hold their locks.
#[derive(Clone, Copy)]
pub(crate) struct RaiseCall<'a> {
    pub(crate) counter: &'a str,
    pub(crate) items: &'a [RaiseItem],
    pub(crate) format: Format,
}

impl RaiseCall<'_> {
    pub(super) fn key(&self) -> &str {
        self.items.first().map_or("", |item| &item.keys.lock)
    }

    pub(super) fn render(&self, form: Form) -> Cmd {
        let of_item = |item: &RaiseItem| item.keys.lock.len() + 2 * NUMBER_MAX;
        let bytes = self.counter.len() + self.items.iter().map(of_item).sum::<usize>();
        let count = self.items.len();
        let script = RAISE.of(self.format);
        let mut command = script.command(form, count + 1, 2 * count, bytes);
        command.arg(self.counter);
        for item in self.items {
            command.arg(&item.keys.lock);
        }
        for item in self.items {
            command.write_arg_fmt(item.id);
            command.arg(item.token.get());
        }
        command
    }

    /// For each lock whether its attempt holds it, so that the counter is as large.
    pub(crate) fn parse(&self, reply: Value) -> Result<Vec<Result<bool>>> {
        let items = items(reply, self.items.len())?;
        Ok(items.into_iter().map(raised).collect())
    }
}

fn raised(item: Value) -> Result<bool> {
    match item {
        Value::Int(is_held) => Ok(is_held == 1),
        other => Err(errors::of_item(&other)),
    }
}

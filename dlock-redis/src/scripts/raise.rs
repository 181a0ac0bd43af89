//! `raise.lua`: raises the token counter.

use std::sync::LazyLock;

use dlock_core::{AttemptId, Result, Token};
use redis::{Cmd, RedisWrite as _, Value};

use crate::{
    errors,
    scripts::script::{Form, NUMBER_MAX, Script},
};

static RAISE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("raise.lua")));

/// Raises the token counter while an attempt holds a lock.
#[derive(Clone, Copy)]
pub(crate) struct RaiseCall<'a> {
    pub(crate) counter: &'a str,
    /// The key of the lock.
    pub(crate) lock: &'a str,
    pub(crate) id: AttemptId,
    pub(crate) token: Token,
}

impl RaiseCall<'_> {
    pub(super) fn render(&self, form: Form) -> Cmd {
        let bytes = self.counter.len() + self.lock.len() + 3 * NUMBER_MAX;
        let mut command = RAISE.command(form, 2, 2, bytes);
        command.arg(self.counter).arg(self.lock);
        command.write_arg_fmt(self.id);
        command.arg(self.token.get());
        command
    }

    /// Whether the attempt holds the lock, so that the counter is as large.
    pub(crate) fn parse(reply: Value) -> Result<bool> {
        redis::from_redis_value(reply).map_err(errors::unexpected_reply)
    }
}

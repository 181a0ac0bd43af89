//! A script, and the command that runs it.

use std::time::Duration;

use redis::{Cmd, Value};

use dlock_core::Result;

use crate::{errors, keys::Format};

/// A script and its hash, by which the server knows it after the first call.
pub(super) struct Script {
    text: &'static str,
    hash: String,
}

/// A script about locks, by how a lock is kept.
pub(super) struct LockScript {
    /// Of locks that are strings.
    pub(super) strings: Script,
    /// Of locks that are hashes.
    pub(super) hashes: Script,
}

impl LockScript {
    /// The script for locks of this format.
    pub(super) fn of(&self, format: Format) -> &Script {
        match format.has_hashes() {
            true => &self.hashes,
            false => &self.strings,
        }
    }
}

/// How a script is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A call by the script's hash: `EVALSHA`.
    Hash,
    /// A call with the script in full: `EVAL`, which also loads it into the server.
    Text,
}

impl Script {
    pub(super) fn new(text: &'static str) -> Self {
        Self {
            text,
            hash: redis::Script::new(text).get_hash().to_owned(),
        }
    }

    /// The command up to the number of its keys; that many keys and `args` arguments follow, together of about `bytes`
    /// bytes.
    pub(super) fn command(&self, form: Form, keys: usize, args: usize, bytes: usize) -> Cmd {
        let (verb, script) = match form {
            Form::Hash => ("EVALSHA", self.hash.as_str()),
            Form::Text => ("EVAL", self.text),
        };
        // Each growth of its buffers costs as much as an argument.
        let capacity = verb.len() + script.len() + NUMBER_MAX + bytes;
        let mut command = Cmd::with_capacity(3 + keys + args, capacity);
        command.arg(verb);
        command.arg(script).arg(keys);
        command
    }
}

/// The longest number, in bytes.
pub(super) const NUMBER_MAX: usize = 20;

/// A duration in the server's unit.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The reply to a script that answers each of `count` items.
pub(super) fn items(reply: Value, count: usize) -> Result<Vec<Value>> {
    let items: Vec<Value> = redis::from_redis_value(reply).map_err(errors::unexpected_reply)?;
    if items.len() == count {
        return Ok(items);
    }
    Err(errors::unexpected_reply("a reply of another length"))
}

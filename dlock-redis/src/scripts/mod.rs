//! The scripts that run in the server, and how they are called.

use std::{sync::LazyLock, time::Duration};

use dlock_core::{Effect, Error, ErrorKind};
use redis::{Cmd, Script};

/// A script and its hash, by which the server knows it after the first call.
pub(crate) struct Text {
    text: &'static str,
    hash: String,
}

impl Text {
    fn new(text: &'static str) -> Self {
        Self {
            text,
            hash: Script::new(text).get_hash().to_owned(),
        }
    }

    /// `EVALSHA`, or with `in_full` `EVAL`, which also teaches the server the script; its keys and
    /// arguments are to follow.
    pub(crate) fn call(&self, in_full: bool, keys: usize) -> Cmd {
        let mut command = redis::cmd(if in_full { "EVAL" } else { "EVALSHA" });
        command.arg(if in_full { self.text } else { &self.hash });
        command.arg(keys);
        command
    }
}

/// Takes a lock.
pub(crate) static ACQUIRE: LazyLock<Text> = LazyLock::new(|| {
    Text::new(concat!(
        include_str!("promotion.lua"),
        include_str!("acquire.lua")
    ))
});

/// Looks at the record of the server's history.
pub(crate) static LOOK: LazyLock<Text> = LazyLock::new(|| {
    Text::new(concat!(
        include_str!("promotion.lua"),
        include_str!("history.lua")
    ))
});

/// Moves the end of locks.
pub(crate) static RENEW: LazyLock<Text> = LazyLock::new(|| Text::new(include_str!("renew.lua")));

/// Frees a lock.
pub(crate) static RELEASE: LazyLock<Text> =
    LazyLock::new(|| Text::new(include_str!("release.lua")));

/// A time as the server has it.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The server answered something that its script cannot answer.
pub(crate) fn nonsense(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Internal, "the server's answer makes no sense")
        .with_effect(Effect::Unknown)
        .with_source(what)
}

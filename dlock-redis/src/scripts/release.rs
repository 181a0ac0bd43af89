//! `release.lua`: releases locks.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{AttemptId, Result};
use redis::{Cmd, RedisWrite as _, Value};

use crate::{
    errors,
    keys::{Format, Keys},
    scripts::script::{Form, LockScript, Script, items},
};

static RELEASE: LazyLock<LockScript> = LazyLock::new(|| LockScript {
    strings: Script::new(concat!(
        include_str!("strings.lua"),
        include_str!("release.lua")
    )),
    hashes: Script::new(concat!(
        include_str!("hashes.lua"),
        include_str!("release.lua")
    )),
});

/// The command of Valkey 9 that deletes a key if it has a value.
const DELETE_IF_EQUAL: &str = "DELIFEQ";

/// The hexadecimal digits of an attempt.
const ATTEMPT_LEN: usize = 32;

/// The number of clients that wait for a lock.
pub(crate) type Listeners = u32;

/// A lock to release.
pub(crate) enum ReleaseItem {
    /// A lock that was granted. Many that are still as they were written are released at once.
    Granted(Arc<Written>),
    /// A lock that may have been granted to this attempt.
    Attempt(Arc<Keys>, AttemptId),
}

/// A lock as it was written.
pub(crate) struct Written {
    pub(crate) keys: Arc<Keys>,
    /// The value. An attempt that was granted before may have another one: it begins in the same way.
    pub(crate) value: String,
    /// Whether other clients wanted the lock when it was granted, so that some may wait for its release.
    is_wanted: AtomicBool,
}

impl Written {
    pub(crate) fn new(keys: Arc<Keys>, value: String) -> Self {
        Self {
            keys,
            value,
            is_wanted: AtomicBool::new(false),
        }
    }

    /// Notes that other clients want the lock.
    pub(crate) fn mark_wanted(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }
}

impl ReleaseItem {
    fn keys(&self) -> &Keys {
        match self {
            Self::Granted(written) => &written.keys,
            Self::Attempt(keys, _) => keys,
        }
    }

    /// The bytes of its key and its value.
    fn len(&self) -> usize {
        let value = match self {
            Self::Granted(written) => written.value.len(),
            Self::Attempt(..) => ATTEMPT_LEN,
        };
        self.keys().lock.len() + value
    }
}

/// Locks to release in one command.
#[derive(Clone, Copy)]
pub(crate) struct ReleaseCall<'a> {
    pub(crate) items: &'a [ReleaseItem],
    pub(crate) format: Format,
    /// The command that publishes a release.
    pub(crate) publish: &'static str,
}

impl ReleaseCall<'_> {
    pub(super) fn key(&self) -> &str {
        self.items.first().map_or("", |item| &item.keys().lock)
    }

    /// The command of a server that deletes a key if it has a value (K4): for one lock that no other client was seen to want.
    ///
    /// A waiter marks the value. It is not deleted then, and the script follows, which publishes the release. A lock that
    /// is a hash cannot be compared so.
    pub(super) fn render_native(&self) -> Option<Cmd> {
        let [ReleaseItem::Granted(written)] = self.items else {
            return None;
        };
        if self.format.has_hashes() || written.is_wanted.load(Ordering::Relaxed) {
            return None;
        }
        let Written { keys, value, .. } = &**written;
        let mut command =
            Cmd::with_capacity(3, DELETE_IF_EQUAL.len() + keys.lock.len() + value.len());
        command.arg(DELETE_IF_EQUAL).arg(&keys.lock).arg(value);
        Some(command)
    }

    pub(super) fn render(&self, form: Form) -> Cmd {
        let bytes = self.items.iter().map(ReleaseItem::len).sum();
        let args = 2 * self.items.len() + 1;
        let script = RELEASE.of(self.format);
        let mut command = script.command(form, self.items.len(), args, bytes);
        for item in self.items {
            command.arg(&item.keys().lock);
        }
        for item in self.items {
            match item {
                ReleaseItem::Granted(written) => command.write_arg(written.value.as_bytes()),
                ReleaseItem::Attempt(_, id) => command.write_arg_fmt(id),
            }
        }
        let channels = || self.items.iter().map(|item| item.keys().special_channel());
        if channels().any(|channel| channel.is_some()) {
            for channel in channels() {
                command.arg(channel.unwrap_or_default());
            }
        }
        command.arg(self.publish);
        command
    }

    /// How many clients were notified of each release; success also if the lock had ended before.
    pub(crate) fn parse(&self, reply: Value) -> Result<Vec<Result<Listeners>>> {
        let count = self.items.len();
        if matches!(reply, Value::Int(_)) {
            return Ok((0..count).map(|_| Ok(0)).collect());
        }
        Ok(items(reply, count)?.into_iter().map(released).collect())
    }
}

fn released(item: Value) -> Result<Listeners> {
    match item {
        Value::Int(count) => Ok(Listeners::try_from(count - 1).unwrap_or(0)),
        other => Err(errors::of_item(&other)),
    }
}

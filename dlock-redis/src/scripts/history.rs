//! `history.lua`: reads the record of the server's history, or begins a new one.

use std::sync::LazyLock;

use dlock_core::{Result, backend::LayoutVersion};
use redis::{Cmd, Value};

use crate::{
    errors,
    scripts::script::{Form, Script},
};

static HISTORY: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("promotion.lua"),
        include_str!("history.lua")
    ))
});

/// The arguments of the script.
pub(crate) struct HistoryCall<'a> {
    /// The keys for the record; the first one decides the slot.
    pub(crate) record_keys: &'a [String],
    /// The key of the token counter, if one serves all names.
    pub(crate) counter: Option<&'a str>,
    /// The `run_id` of the server.
    pub(crate) run_id: &'a str,
    /// How a history begins whose record is of another run.
    pub(crate) began: &'a str,
    /// The least value of a new counter.
    pub(crate) least_token: u64,
    /// The layout that the record must have.
    pub(crate) layout: LayoutVersion,
}

/// The reply of the script.
pub(crate) struct HistoryReply {
    /// The server's clock, in microseconds.
    pub(crate) server_time: u64,
    /// The record that counts now; or, of another layout, the one that was found.
    pub(crate) record: String,
    /// Whether the record is of another layout.
    pub(crate) has_other_layout: bool,
    /// Whether this call has begun the history.
    pub(crate) is_new: bool,
}

impl HistoryCall<'_> {
    /// The command. It is sent in full: each connection needs it only once.
    pub(crate) fn render(&self) -> Cmd {
        let (first, others) = self
            .record_keys
            .split_first()
            .map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
        let mut command =
            HISTORY.command(Form::Text, 1 + usize::from(self.counter.is_some()), 0, 0);
        command.arg(first).arg(self.counter);
        command
            .arg(self.layout.to_string())
            .arg(self.run_id)
            .arg(self.began)
            .arg(self.least_token)
            .arg(others);
        command
    }
}

impl HistoryReply {
    /// Parses the reply: the time, the record that was found, and unless that has another layout the record
    /// that counts, and whether it is new.
    pub(crate) fn parse(reply: &[Value]) -> Result<Self> {
        let text = |index: usize| -> Result<String> {
            let value = reply.get(index).cloned().unwrap_or(Value::Nil);
            redis::from_redis_value(value).map_err(errors::unexpected_reply)
        };
        let has_other_layout = reply.len() == 2;
        Ok(Self {
            server_time: text(0)?.parse().map_err(errors::unexpected_reply)?,
            record: text(if has_other_layout { 1 } else { 2 })?,
            has_other_layout,
            is_new: matches!(reply.get(3), Some(Value::Int(1))),
        })
    }
}

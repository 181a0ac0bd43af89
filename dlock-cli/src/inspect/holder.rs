//! A holder in words and in JSON.

use std::time::{Duration, SystemTime};

use dlock::{Clock, Holder, LockName, Mode};
use serde::Serialize;

use crate::base::{duration, output::one_line};

/// The holder in a few words: `pid 4711 on web-3 (checkout 77)`.
pub(crate) fn who(holder: &Holder) -> String {
    let process = process(holder);
    holder
        .note
        .as_ref()
        .map_or_else(|| process.clone(), |note| format!("{process} ({note})"))
}

fn process(holder: &Holder) -> String {
    match (holder.pid, &holder.host) {
        (Some(pid), Some(host)) => format!("pid {pid} on {host}"),
        (None, Some(host)) => format!("a process on {host}"),
        _ => "another client".to_owned(),
    }
}

/// All known facts of the holder, a line each.
pub(crate) fn describe(name: &LockName, holder: &Holder, clock: &Clock) -> String {
    let mode = match holder.mode {
        Mode::Shared => "held, shared",
        _ => "held",
    };
    let mut text = format!("{name} is {mode}\n");
    // A store that others write to may hold anything.
    let mut line =
        |label: &str, value: String| text += &format!("  {label:<6} {}\n", one_line(&value));
    line("by", process(holder));
    if let Some(note) = &holder.note {
        line("note", note.clone());
    }
    if let Some(token) = holder.token {
        line("token", token.to_string());
    }
    if let Some(since) = holder.since_unix_micros {
        let ago = Duration::from_micros(clock.unix_micros().saturating_sub(since));
        line(
            "since",
            format!("{} ({} ago)", timestamp(since), duration::show(ago)),
        );
    }
    if let Some(remaining) = holder.remaining {
        line(
            "ends",
            format!("in {} unless it is renewed", duration::show(remaining)),
        );
    }
    if let Some(warning) = &holder.warning {
        line("warning", warning.clone());
    }
    text
}

/// The answer of `dlock inspect --json`; what is unknown is null.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    name: &'a str,
    held: bool,
    holder: Option<HolderReport<'a>>,
}

#[derive(Debug, Serialize)]
struct HolderReport<'a> {
    host: Option<&'a str>,
    pid: Option<u32>,
    note: Option<&'a str>,
    /// The token as text: a number would be rounded by readers that keep numbers as doubles.
    token: Option<String>,
    attempt: Option<String>,
    mode: &'static str,
    since: Option<String>,
    remaining_ms: Option<u64>,
    #[serde(rename = "doubt")]
    warning: Option<&'a str>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(name: &'a LockName, holder: Option<&'a Holder>) -> Self {
        let holder = holder.map(|holder| HolderReport {
            host: holder.host.as_deref(),
            pid: holder.pid,
            note: holder.note.as_deref(),
            token: holder.token.map(|token| token.to_string()),
            attempt: holder.attempt.map(|attempt| attempt.to_string()),
            mode: match holder.mode {
                Mode::Shared => "shared",
                _ => "exclusive",
            },
            since: holder.since_unix_micros.map(timestamp),
            remaining_ms: holder
                .remaining
                .map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            warning: holder.warning.as_deref(),
        });
        Self {
            name: name.as_str(),
            held: holder.is_some(),
            holder,
        }
    }
}

/// RFC 3339 in UTC, to the millisecond.
fn timestamp(unix_micros: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(unix_micros));
    // humantime panics after the year 9999, which a foreign or broken entry may well say.
    const LATEST_MICROS: u64 = 253_402_300_799_999_999;
    match time {
        Some(time) if unix_micros <= LATEST_MICROS => {
            humantime::format_rfc3339_millis(time).to_string()
        }
        _ => format!("{unix_micros} us after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "4f0000000000000000000000000000a1 77 1780000000000000 4711@web-3 checkout 77";

    fn holder() -> Holder {
        Holder::decode(LINE.as_bytes(), None)
    }

    #[test]
    fn who_is_short() {
        assert_eq!(who(&holder()), "pid 4711 on web-3 (checkout 77)");
        assert_eq!(who(&Holder::foreign()), "another client");
    }

    #[test]
    fn a_description_has_a_line_for_each_thing_that_is_known() {
        let name = LockName::new("seat/14C").expect("name");
        let mut holder = holder();
        holder.remaining = Some(Duration::from_secs(22));
        let text = describe(&name, &holder, &Clock::boottime());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "seat/14C is held",
                "  by     pid 4711 on web-3",
                "  note   checkout 77",
                "  token  77",
            ]
        );
        assert!(
            lines[4].starts_with("  since  2026-05-28T20:26:40.000Z ("),
            "{}",
            lines[4]
        );
        assert_eq!(lines[5], "  ends   in 22s unless it is renewed");
    }

    #[test]
    fn what_a_store_holds_cannot_steer_the_terminal() {
        let name = LockName::new("a").expect("name");
        let mut holder = holder();
        holder.host = Some("web\u{9b}3".to_owned());
        holder.note = Some("a\n  token  78\u{1b}[2J".to_owned());
        let text = describe(&name, &holder, &Clock::boottime());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], r"  by     pid 4711 on web\u{9b}3");
        assert_eq!(lines[2], r"  note   a\n  token  78\u{1b}[2J");
    }

    #[test]
    fn json_says_what_is_unknown() {
        let name = LockName::new("a").expect("name");
        let report = serde_json::to_value(Report::new(&name, None)).expect("json");
        assert_eq!(
            report,
            serde_json::json!({ "name": "a", "held": false, "holder": null })
        );
        let holder = holder();
        let report = serde_json::to_value(Report::new(&name, Some(&holder))).expect("json");
        assert_eq!(report["held"], true);
        assert_eq!(report["holder"]["token"], "77");
        assert_eq!(report["holder"]["pid"], 4711);
        assert_eq!(report["holder"]["remaining_ms"], serde_json::Value::Null);
    }

    #[test]
    fn a_time_beyond_calendars_is_no_panic() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            timestamp(253_402_300_799_999_999),
            "9999-12-31T23:59:59.999Z"
        );
        assert!(timestamp(u64::MAX).ends_with("us after 1970"));
    }
}

//! How far a migration is, in words and in JSON.

use std::time::{Duration, SystemTime};

use dlock::layers::migrate::{Migration, MigrationStage, Status};
use serde::Serialize;

use crate::base::{
    exit::Failure,
    output::{self, one_line},
};

/// Both records, and what comes next.
pub(super) fn text(status: &Status) -> String {
    let line = |label: &str, record: Option<&Migration>| match record {
        None => format!("{label}  no migration\n"),
        Some(record) => {
            one_line(&format!(
                "{label}  {}, since {} by {}; the other store is {}",
                record.stage,
                time(record),
                record.by,
                record.other
            )) + "\n"
        }
    };
    let mut text = line("old", status.old.as_ref()) + &line("new", status.new.as_ref());
    text += next(status);
    text.push('\n');
    text
}

/// The next step of the operator.
fn next(status: &Status) -> &'static str {
    use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
    let stages = (
        status.old.as_ref().map(|record| record.stage),
        status.new.as_ref().map(|record| record.stage),
    );
    let is_one = matches!((&status.old, &status.new), (Some(old), Some(new)) if old.id == new.id);
    match stages {
        (Some(Leaving), Some(Arriving)) if is_one => {
            "the locks of the old store count; next: migrate: in all programs, then dlock migrate switch"
        }
        (Some(Left), Some(Arrived)) if is_one => {
            "the locks of the new store count; next: its URL in all programs"
        }
        (Some(Leaving | Closed | Left), Some(Arriving | Arrived)) if is_one => {
            "the switch was begun; next: dlock migrate switch, once more"
        }
        (Some(Leaving | Closed), Some(Cancelled)) if is_one => {
            "the cancel was cut off; next: dlock migrate cancel, once more"
        }
        (Some(Closed | Left), None) => {
            "the record is gone from the new store; next: dlock migrate switch, once more"
        }
        (Some(Cancelled), Some(Arriving)) if is_one => {
            "the cancel was cut off; next: dlock migrate cancel, once more"
        }
        (Some(Leaving), None | Some(Cancelled | Left)) => {
            "the start was cut off; next: dlock migrate start, or cancel"
        }
        (None | Some(Cancelled), None | Some(Cancelled)) => {
            "no migration; next: dlock migrate plan"
        }
        _ => "these are not the two stores of one migration",
    }
}

/// The time of the record, to the second and in UTC.
fn time(record: &Migration) -> String {
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(record.since_unix_micros));
    at.map_or_else(
        || "an unknown time".to_owned(),
        |at| humantime::format_rfc3339_seconds(at).to_string(),
    )
}

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    old: Option<Record<'a>>,
    new: Option<Record<'a>>,
}

#[derive(Serialize)]
struct Record<'a> {
    stage: &'static str,
    id: String,
    since: String,
    by: &'a str,
    other: &'a str,
}

pub(super) fn json(status: &Status) -> Result<String, Failure> {
    output::json(&Report {
        format: "dlock-migrate/1",
        old: status.old.as_ref().map(Record::of),
        new: status.new.as_ref().map(Record::of),
    })
}

impl<'a> Record<'a> {
    fn of(record: &'a Migration) -> Self {
        Self {
            stage: record.stage.as_str(),
            id: record.id.to_string(),
            since: time(record),
            by: &record.by,
            other: &record.other,
        }
    }
}

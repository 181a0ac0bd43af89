//! How far a migration is, in words and in JSON.

use dlock::layers::migrate::{Migration, MigrationStage, Records, Status, since};
use serde::Serialize;

use super::{
    next::{Found, Next, next},
    old_alone::OldAlone,
};
use crate::base::{
    exit::Failure,
    output::{self, one_line},
};

/// Both records as far as they are known, and the next step.
pub(super) struct Shown<'a> {
    old: Found<'a>,
    new: Found<'a>,
    /// Whether a lock was taken in both stores.
    pub(super) is_checked: bool,
    /// The holders in the old store alone, if they were searched for.
    pub(super) old_alone: Option<OldAlone>,
}

impl<'a> Shown<'a> {
    pub(super) fn of(status: &'a Status) -> Self {
        Self {
            old: Ok(status.old.as_ref()),
            new: Ok(status.new.as_ref()),
            is_checked: false,
            old_alone: None,
        }
    }

    pub(super) fn of_records(records: &'a Records) -> Self {
        Self {
            old: records.old.as_ref().map(Option::as_ref),
            new: records.new.as_ref().map(Option::as_ref),
            is_checked: false,
            old_alone: None,
        }
    }

    fn next(&self) -> Next {
        next(self.old, self.new)
    }

    pub(super) fn text(&self) -> String {
        let mut text = line("old", self.old) + &line("new", self.new);
        if self.is_checked {
            text += "a lock was taken as programs with migrate: do, and released\n";
        }
        text += &self
            .old_alone
            .as_ref()
            .map_or_else(String::new, OldAlone::text);
        text += self.next().text;
        text.push('\n');
        text
    }

    pub(super) fn json(&self) -> Result<String, Failure> {
        let Next { word, text } = self.next();
        output::json(&Report {
            format: "dlock-migrate/1",
            old: self.old.ok().flatten().map(Record::of),
            old_error: self.old.err().map(ToString::to_string),
            new: self.new.ok().flatten().map(Record::of),
            new_error: self.new.err().map(ToString::to_string),
            checked: self.is_checked,
            old_alone: self.old_alone.as_ref(),
            next: word,
            next_text: text,
        })
    }
}

fn line(label: &str, found: Found<'_>) -> String {
    let text = match found {
        Err(error) => format!("not known: {error}"),
        Ok(None) => "no migration".to_owned(),
        Ok(Some(record)) => {
            let other = match record.stage {
                MigrationStage::Cancelled => "was",
                _ => "is",
            };
            format!(
                "{}, since {} by {}; the other store {other} {}",
                record.stage,
                since(record),
                record.by,
                record.other
            )
        }
    };
    one_line(&format!("{label}  {text}")) + "\n"
}

#[derive(Serialize)]
struct Report<'a> {
    format: &'static str,
    old: Option<Record<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_error: Option<String>,
    new: Option<Record<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_error: Option<String>,
    /// Only after `check`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    checked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_alone: Option<&'a OldAlone>,
    next: &'static str,
    next_text: &'static str,
}

#[derive(Serialize)]
struct Record<'a> {
    stage: &'static str,
    id: String,
    since: String,
    by: &'a str,
    other: &'a str,
}

impl<'a> Record<'a> {
    fn of(record: &'a Migration) -> Self {
        Self {
            stage: record.stage.as_str(),
            id: record.id.to_string(),
            since: since(record),
            by: &record.by,
            other: &record.other,
        }
    }
}

//! Reading the data of a run: from JSON, or from a report that has it inside.

use std::fmt;

use serde::Deserialize;

use super::{FORMAT, Run};

/// The begin of the element of a report that has the data inside. A template is not shown and not run.
pub(crate) const ELEMENT_BEGIN: &str = r#"<template id="dlock-bench">"#;
/// The end of that element. The JSON has no `<`: a report writes it as an escape.
pub(crate) const ELEMENT_END: &str = "</template>";

/// Why a text is not the data of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The data has another format, or another version of it.
    Format {
        /// The format that the text has.
        found: String,
    },
    /// The text is not JSON, or lacks something.
    Malformed(serde_json::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format { found } => write!(f, "the format is {found} (allowed: {FORMAT})"),
            Self::Malformed(error) => write!(f, "not the data of a run: {error}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// The part of the data that all versions have.
#[derive(Deserialize)]
struct Header {
    format: String,
}

impl Run {
    /// Reads a run from the JSON of `dlock bench --json`, or from a report of `dlock bench --report`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Format`] for another version; [`ReadError::Malformed`] for anything else.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let json = inside_report(text).unwrap_or(text);
        let header: Header = serde_json::from_str(json).map_err(ReadError::Malformed)?;
        if header.format != FORMAT {
            return Err(ReadError::Format {
                found: header.format,
            });
        }
        serde_json::from_str(json).map_err(ReadError::Malformed)
    }
}

/// The JSON inside a report.
fn inside_report(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(ELEMENT_BEGIN)?;
    rest.split_once(ELEMENT_END).map(|(json, _)| json)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../tests/data/sample.json");

    #[test]
    fn the_sample_is_read_and_written_alike() {
        let run = Run::parse(SAMPLE).expect("the sample");
        let again = serde_json::to_value(&run).expect("JSON");
        let sample: serde_json::Value = serde_json::from_str(SAMPLE).expect("JSON");
        assert_eq!(again, sample);
    }

    #[test]
    fn a_report_has_the_data_inside() {
        let report =
            format!("<!doctype html><p>text</p>{ELEMENT_BEGIN}{SAMPLE}{ELEMENT_END}</html>");
        let (inside, plain) = (Run::parse(&report), Run::parse(SAMPLE));
        assert_eq!(inside.expect("inside"), plain.expect("plain"));
    }

    #[test]
    fn a_run_from_before_names_were_used_once_is_read() {
        let mut older: serde_json::Value = serde_json::from_str(SAMPLE).expect("JSON");
        let settings = older["settings"].as_object_mut().expect("settings");
        settings.remove("awake").expect("a setting");
        for store in older["stores"].as_array_mut().expect("stores") {
            let store = store.as_object_mut().expect("a store");
            for field in ["new_names", "used_once", "floor_of_new_names"] {
                store.remove(field).expect("a field");
            }
        }
        let run = Run::parse(&older.to_string()).expect("an older run");
        let names = run.stores.iter().map(|store| store.new_names.len());
        assert_eq!(
            (names.sum::<usize>(), run.settings.awake.clone()),
            (0, None)
        );
        assert_eq!(serde_json::to_value(&run).expect("JSON"), older);
    }

    #[test]
    fn another_version_is_refused_with_both() {
        let error = Run::parse(r#"{"format":"dlock-bench/2"}"#).expect_err("another version");
        let text = error.to_string();
        assert_eq!(text, "the format is dlock-bench/2 (allowed: dlock-bench/1)");
        let error = Run::parse("hello").expect_err("no JSON");
        assert!(error.to_string().starts_with("not the data of a run"));
    }
}

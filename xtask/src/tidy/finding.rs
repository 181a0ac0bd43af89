//! A place that breaks a rule.

use std::fmt;

/// One line for the reader: where, and which rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    place: String,
    message: String,
}

impl Finding {
    pub(crate) fn of_file(path: &str, message: impl Into<String>) -> Self {
        Self {
            place: path.to_owned(),
            message: message.into(),
        }
    }

    /// `line` counts from 1.
    pub(crate) fn of_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            place: format!("{path}:{line}"),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

//! A setting of a server that matters to its locks.

use serde::{Deserialize, Serialize};

use super::clause::Clause;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// Not what is recommended, and a setting of dlock covers it.
    Covered,
    /// Worth knowing: no clause is at risk.
    Note,
    /// The account may not read the setting, or the server does not report it.
    Unknown,
    /// A clause may be broken in a situation that is rare.
    Warning,
    /// A clause may be broken in daily use, or dlock refuses the server.
    Danger,
}

/// One setting, or one exception that applies to this server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The stable id, for `--accept`: `"redis.eviction"`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// The setting, by the server's own name: `"maxmemory-policy"`.
    pub setting: String,
    /// The value of the setting.
    pub found: String,
    /// The value that dlock wants, or the bound.
    pub wanted: String,
    /// The clauses that are at risk.
    pub clauses: Vec<Clause>,
    /// The id of the exception in `docs/contract.md` that applies, if there is one.
    pub exception: Option<String>,
    /// The consequence, in a sentence.
    pub consequence: String,
    /// The command or the URL key that mends it, or the right to grant; empty if nothing does.
    pub advice: String,
    /// Whether the user accepts it.
    pub accepted: bool,
}

impl Finding {
    /// A finding about `setting` without details.
    #[must_use]
    pub fn new(id: impl Into<String>, severity: Severity, setting: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            severity,
            setting: setting.into(),
            found: String::new(),
            wanted: String::new(),
            clauses: Vec::new(),
            exception: None,
            consequence: String::new(),
            advice: String::new(),
            accepted: false,
        }
    }
}

//! The report of a probe.

use std::fmt;

use serde::Serialize;

use super::finding::{Check, Finding, Severity};

/// The store behind a URL, and what was found.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The servers.
    pub about: About,
    /// The settings that are not as they should be, the gravest first.
    pub findings: Vec<Finding>,
    /// The checks that have no answer.
    pub unknown: Vec<Unknown>,
    /// The parts of the environment that the contract takes for granted, as measured.
    pub assumptions: Vec<Assumption>,
    /// The evictions of servers that remove keys when their memory is full; `None` if none does.
    pub evictions: Option<Evictions>,
    /// The ids of all checks that had an answer. One without a finding is as it should be.
    pub checked: Vec<&'static str>,
}

/// The servers of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct About {
    /// The product, such as `Redis`, `Valkey`, `etcd` or `MariaDB`.
    pub product: String,
    /// The version, as the server reports it; of the oldest one if there are several.
    pub version: String,
    /// The role of the server and its topology: `primary, 1 replica`.
    pub role: String,
    /// The servers that answered, without user and password.
    pub servers: Vec<String>,
}

/// Keys that servers remove because their memory is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Evictions {
    /// How many they have removed since they started.
    pub keys: u64,
    /// Whether so much memory is used that a further key soon removes another.
    pub are_near: bool,
}

/// Something that the account may not read, or that the server does not report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unknown {
    /// The id of the [`Check`] that has no answer.
    pub id: &'static str,
    /// The setting or the state that it reads.
    pub setting: &'static str,
    /// Why there is no answer: the server's words, or those of the driver.
    pub why: String,
    /// The right to grant, or the setting to change, so that it can be read.
    pub grant: String,
}

/// A part of the environment that the contract takes for granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Assumption {
    /// The clause that rests on it.
    pub clause: &'static str,
    /// The assumption.
    pub what: &'static str,
    /// The measured value; `None` if it cannot be measured here.
    pub measured: Option<String>,
    /// The allowed value.
    pub allowed: &'static str,
}

impl Report {
    /// The gravest severity; `None` if nothing was found.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Adds the findings of another report about the same servers.
    pub(crate) fn add(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.unknown.extend(other.unknown);
        self.assumptions.extend(other.assumptions);
        self.checked.extend(other.checked);
    }

    /// Puts the gravest finding first, and each id once into the list of checks.
    pub(crate) fn sort(&mut self) {
        self.findings
            .sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.id));
        self.checked.sort_unstable();
        self.checked.dedup();
    }

    /// Notes the answer of a check.
    pub(crate) fn note(&mut self, check: &Check, finding: Option<Finding>) {
        self.checked.push(check.id);
        self.findings.extend(finding);
    }

    /// Notes that a check has no answer.
    pub(crate) fn no_answer(
        &mut self,
        check: &Check,
        why: impl fmt::Display,
        grant: impl fmt::Display,
    ) {
        self.unknown.push(Unknown {
            id: check.id,
            setting: check.setting,
            why: why.to_string(),
            grant: grant.to_string(),
        });
    }
}

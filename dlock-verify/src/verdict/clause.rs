//! The verdict about one clause of the contract.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A clause of the contract, `docs/contract.md`.
///
/// Exhaustive: each report must show a further clause, so one is a breaking change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "a report shows each clause")]
#[expect(missing_docs, reason = "the contract describes them")]
pub enum Clause {
    K1,
    K2,
    K3,
    K4,
    K5,
    K6,
    K7,
    K8,
    K9,
    K10,
    K11,
    K12,
    K13,
}

impl Clause {
    /// All clauses, in the order of the contract.
    pub const ALL: [Self; 13] = [
        Self::K1,
        Self::K2,
        Self::K3,
        Self::K4,
        Self::K5,
        Self::K6,
        Self::K7,
        Self::K8,
        Self::K9,
        Self::K10,
        Self::K11,
        Self::K12,
        Self::K13,
    ];

    /// The id: `"K1"`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.words().0
    }

    /// The name in the contract: `"exclusion"`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::K1 => ("K1", "exclusion"),
            Self::K2 => ("K2", "deadline"),
            Self::K3 => ("K3", "renewal"),
            Self::K4 => ("K4", "release"),
            Self::K5 => ("K5", "tokens"),
            Self::K6 => ("K6", "waiting"),
            Self::K7 => ("K7", "cancellation"),
            Self::K8 => ("K8", "loss"),
            Self::K9 => ("K9", "ambiguity"),
            Self::K10 => ("K10", "names"),
            Self::K11 => ("K11", "bad input"),
            Self::K12 => ("K12", "residue"),
            Self::K13 => ("K13", "independence"),
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl FromStr for Clause {
    type Err = String;

    /// Reads the id, such as `K1`.
    fn from_str(id: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|clause| clause.id() == id);
        found.ok_or_else(|| format!("{id:?} is not a clause (allowed: K1 to K13)"))
    }
}

/// Whether a clause holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// All its cases that were tried passed, and no history violates it.
    Holds,
    /// A case failed, or a history violates it.
    Fails,
    /// A case has no answer: the store or this machine was too slow, or a right is missing.
    Unknown,
    /// No case was tried: there was no time for it.
    NotTried,
}

/// The verdict about one clause on one store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClauseVerdict {
    /// The clause.
    pub id: Clause,
    /// The name in the contract.
    pub title: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The evidence in one line, for people: counts and measured times.
    pub evidence: String,
    /// The cases that were run for it, or would have been.
    pub cases: Vec<CaseResult>,
    /// How many grants were checked against it.
    pub grants: u64,
    /// With no failure: fewer than one grant in this many fails, at a confidence of 95 %.
    pub rare_at_most: Option<u64>,
    /// The lines that prove a failure; empty without one.
    pub witness: Vec<String>,
    /// Whether the user accepts that it is not known.
    pub accepted: bool,
}

impl ClauseVerdict {
    /// A clause that no case has been run for yet.
    #[must_use]
    pub fn unknown(id: Clause, evidence: impl Into<String>) -> Self {
        Self {
            id,
            title: id.title().to_owned(),
            verdict: Verdict::Unknown,
            evidence: evidence.into(),
            cases: Vec::new(),
            grants: 0,
            rare_at_most: None,
            witness: Vec::new(),
            accepted: false,
        }
    }
}

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CaseResult {
    /// The name: `"it_frees_the_lock"`.
    pub name: String,
    /// Whether it passed, failed, has no answer or was not tried.
    pub verdict: Verdict,
    /// Why it did not pass; empty if it did.
    pub why: String,
}

impl CaseResult {
    /// A case and its result.
    #[must_use]
    pub fn new(name: impl Into<String>, verdict: Verdict, why: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            verdict,
            why: why.into(),
        }
    }
}

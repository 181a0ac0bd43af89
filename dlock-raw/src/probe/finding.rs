//! Checks of settings, and what they find.

use std::fmt;

use serde::Serialize;

/// How much a finding matters. The order is by weight: a danger is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Not what is recommended, and a setting of dlock covers it: nothing is to be done.
    Covered,
    /// Worth knowing: no clause is at risk.
    Note,
    /// A clause may be broken in a situation that is rare, or dlock may become slow or unavailable.
    Warning,
    /// A clause may be broken in daily use, or dlock refuses the server.
    Danger,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Covered => "covered",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Danger => "danger",
        })
    }
}

/// One check: the part of a finding that is the same on all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// The stable name, such as `redis.eviction`. It is the id of the contract's exception where the check decides
    /// whether that exception applies.
    pub id: &'static str,
    /// The setting or the state that is read, in the words of the server.
    pub setting: &'static str,
    /// The clause of the contract that is at risk, such as `K1`.
    pub clause: &'static str,
    /// The effect on locks, in a short sentence.
    pub effect: &'static str,
    /// The command or the key of the URL that mends it.
    pub advice: &'static str,
    /// The exception in `docs/contract.md` that applies then, if there is one.
    pub exception: Option<&'static str>,
    /// The section of a README that explains it.
    pub readme: &'static str,
}

/// A setting that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The id of the [`Check`].
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The setting or the state that was read.
    pub setting: &'static str,
    /// The value, with the server that has it where there are several.
    pub found: String,
    /// The value that it should have.
    pub wanted: String,
    /// The clause of the contract that is at risk.
    pub clause: &'static str,
    /// The effect on locks, in a short sentence.
    pub effect: String,
    /// The command or the key of the URL that mends it; empty if it is covered.
    pub advice: String,
    /// The exception in `docs/contract.md` that applies, if there is one.
    pub exception: Option<&'static str>,
    /// The section of a README that explains it.
    pub readme: &'static str,
}

impl Check {
    /// Makes the finding of this check.
    pub(crate) fn finds(
        &self,
        severity: Severity,
        found: impl fmt::Display,
        wanted: impl fmt::Display,
    ) -> Finding {
        Finding {
            id: self.id,
            severity,
            setting: self.setting,
            found: found.to_string(),
            wanted: wanted.to_string(),
            clause: self.clause,
            effect: self.effect.to_owned(),
            // Nothing is to be done about what is covered.
            advice: match severity {
                Severity::Covered => String::new(),
                _ => self.advice.to_owned(),
            },
            exception: self.exception,
            readme: self.readme,
        }
    }
}

impl Finding {
    /// Replaces the effect by that of this case.
    pub(crate) fn effect(mut self, effect: impl fmt::Display) -> Self {
        self.effect = effect.to_string();
        self
    }

    /// Replaces the advice by the one with this server's values.
    pub(crate) fn advice(mut self, advice: impl fmt::Display) -> Self {
        self.advice = advice.to_string();
        self
    }
}

//! The kinds of tests that a mutant is measured by.

use serde::{Deserialize, Serialize};

/// A column of the table.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Column {
    /// The tests of the crate, and the conformance suite of its backend.
    Suite,
    /// Core in virtual time.
    Simulation,
    /// Real servers and faults.
    Chaos,
}

impl Column {
    /// All, in the order in which they are run.
    pub(super) const ALL: [Self; 3] = [Self::Suite, Self::Simulation, Self::Chaos];
}

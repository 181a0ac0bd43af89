//! The effects of a fault that was injected.

use serde::{Deserialize, Serialize};

/// All strikes of one fault. What happens while two faults are on counts for both of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FaultEffect {
    /// The stable id: `"net-cut"`.
    pub id: String,
    /// How often it struck.
    pub strikes: u64,
    /// How often it bit: guards it lost, requests without an answer, writes refused for their token.
    pub bit: u64,
    /// How many locks were granted while it was on, or within 2 ttl after.
    pub grants: u64,
    /// How many promises were broken in this time that no exception of the contract declares.
    pub violations: u64,
    /// How many promises were broken in this time by declared exceptions.
    pub declared: u64,
}

impl FaultEffect {
    /// A fault that has not struck yet.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }
}

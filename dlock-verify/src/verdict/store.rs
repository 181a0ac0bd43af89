//! The verdict about one store.

use serde::{Deserialize, Serialize};

use super::{clause::ClauseVerdict, fault::FaultEffect, finding::Finding};

/// Everything that was found about one store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoreVerdict {
    /// The URL without a password.
    pub url: String,
    /// The server, if it could be reached.
    pub server: Option<ServerSummary>,
    /// Why locks could not be tried: the store was not reached, or refused.
    pub error: Option<String>,
    /// How long the verification took, in seconds.
    pub seconds: f64,
    /// How long the first lock was waited for, in seconds, which comes on top of the planned time.
    ///
    /// A server that may have forgotten its locks grants none until its guard has ended.
    #[serde(default)]
    pub first_lock_seconds: f64,
    /// How many grants were checked.
    pub grants: u64,
    /// The faults that were injected into the program's own processes and connections, in the order of their ids.
    pub faults: Vec<FaultEffect>,
    /// One for each clause, in the order of the contract.
    pub clauses: Vec<ClauseVerdict>,
    /// The settings that matter, the gravest first.
    pub findings: Vec<Finding>,
    /// The ids of checks that found nothing: the cause of a finding is not here.
    pub not_here: Vec<String>,
    /// The assumptions of the contract that were measured.
    pub assumptions: Vec<Assumption>,
    /// The bounds of the load on the server; the load itself is lower.
    #[serde(alias = "traffic")]
    pub limits: Limits,
    /// The entries of the verification in the store.
    pub residue: Residue,
}

impl StoreVerdict {
    /// A store that nothing is known of yet.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            server: None,
            error: None,
            seconds: 0.0,
            first_lock_seconds: 0.0,
            grants: 0,
            faults: Vec::new(),
            clauses: Vec::new(),
            findings: Vec::new(),
            not_here: Vec::new(),
            assumptions: Vec::new(),
            limits: Limits::default(),
            residue: Residue::default(),
        }
    }

    /// How often faults struck, all together.
    #[must_use]
    pub fn strikes(&self) -> u64 {
        self.faults.iter().map(|fault| fault.strikes).sum()
    }
}

/// The server in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerSummary {
    /// The product: `"Redis"`.
    pub product: String,
    /// The version that it reports.
    pub version: String,
    /// The role and the neighbours: `"primary, 1 replica"`; may be empty.
    pub role: String,
}

impl ServerSummary {
    /// A server in words.
    #[must_use]
    pub fn new(
        product: impl Into<String>,
        version: impl Into<String>,
        role: impl Into<String>,
    ) -> Self {
        Self {
            product: product.into(),
            version: version.into(),
            role: role.into(),
        }
    }
}

/// An assumption of the contract, and what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Assumption {
    /// The name: `"clock rates"`.
    pub name: String,
    /// The measured value, with its unit.
    pub found: String,
    /// The bound, with its unit.
    pub allowed: String,
}

impl Assumption {
    /// An assumption, and what was measured.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            found: found.into(),
            allowed: allowed.into(),
        }
    }
}

/// The bounds of the load that the verification of one URL is on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// The bound of requests in a second.
    pub requests_per_second_max: u32,
    /// The bound of connections at the same time.
    pub connections_max: u32,
}

impl Limits {
    /// Bounds of these sizes.
    #[must_use]
    pub const fn new(requests_per_second_max: u32, connections_max: u32) -> Self {
        Self {
            requests_per_second_max,
            connections_max,
        }
    }
}

/// The entries that the verification made in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Residue {
    /// How many entries it removed by name at its end.
    pub removed: u64,
    /// The entries that could not be removed.
    pub left: Vec<String>,
    /// Why the store could not list what is left, if that is so.
    pub unknown: Option<String>,
}

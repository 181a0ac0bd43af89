//! The verdict of `dlock verify` about stores, as data: the format `dlock-verify/1`.
//!
//! A [`Document`] has a [`StoreVerdict`] for each store. That has a [`ClauseVerdict`] for each clause of the contract,
//! and a [`Finding`] for each setting that matters. A [`FaultEffect`] has the counts of one fault. The [`Outcome`] of a document is the exit code of the program.

mod bound;
mod clause;
mod document;
mod fault;
mod finding;
mod outcome;
mod store;

pub use self::{
    bound::rare_at_most,
    clause::{CaseResult, Clause, ClauseVerdict, Verdict},
    document::{Document, FORMAT, FormatError},
    fault::FaultEffect,
    finding::{Finding, Severity},
    outcome::Outcome,
    store::{Assumption, Limits, Residue, ServerSummary, StoreVerdict},
};

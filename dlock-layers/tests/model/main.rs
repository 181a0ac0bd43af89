//! Models of what the layers do to their stores, searched state by state.
//!
//! Each model has the steps of a protocol, of faults and of operators, for one name and a few processes. A search
//! visits every order of steps within its bounds. Each rule of a protocol is left out once, by a
//! mutant, and the search then finds a violation.
//!
//! `DLOCK_MODEL_BOUNDS=large` makes larger searches, with more processes, grants and walks.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is a test, helpers included"
)]

mod bounds;
mod migrate;
mod quorum;
mod records;
mod search;
mod walk;

//! Fencing tokens.

pub(crate) mod committed;
pub(crate) mod epoch;

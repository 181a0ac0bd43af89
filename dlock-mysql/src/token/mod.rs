//! Fencing tokens (K5).

pub(crate) mod committed;
pub(crate) mod epoch;

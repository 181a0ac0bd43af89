//! What proves that a session is alive.

pub(crate) mod contact;
pub(crate) mod proof;

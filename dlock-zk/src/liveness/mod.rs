//! Liveness of a session: the writes that prove it, and for how long.

pub(crate) mod contact;
pub(crate) mod proof;
pub(crate) mod tracker;

#[cfg(test)]
mod tests;

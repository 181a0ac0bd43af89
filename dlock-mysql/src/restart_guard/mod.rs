//! The restart guard: how long a server grants nothing after its start or promotion (K1).

pub(crate) mod longest_ttl;
pub(crate) mod restart;

//! The schemes of this crate, which no store inside another one has.

/// The scheme of a migration.
pub(crate) const MIGRATE: &str = "migrate";

/// The scheme of a quorum of any stores.
pub(crate) const QUORUM: &str = "quorum";

/// The schemes of a quorum with a host for each node, and those of the nodes.
pub(crate) const QUORUM_OF_HOSTS: [(&str, &str); 2] =
    [("redis-quorum", "redis"), ("rediss-quorum", "rediss")];

/// Whether a URL with this scheme is a quorum.
pub(crate) fn is_quorum(scheme: &str) -> bool {
    scheme == QUORUM || QUORUM_OF_HOSTS.iter().any(|(quorum, _)| *quorum == scheme)
}

/// Whether a URL with this scheme is made of other stores.
pub(crate) fn is_layer(scheme: &str) -> bool {
    scheme == MIGRATE || is_quorum(scheme)
}

//! The bounds of URLs in URLs.

/// How deep stores are nested in stores at most.
pub(super) const STORES_NESTED_MAX: usize = 3;

//! Watches: notice of deleted keys.

mod ids;
pub(crate) mod registry;
mod stream;

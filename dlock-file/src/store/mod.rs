//! The directory and its lock files.

pub(crate) mod directory;
pub(crate) mod filesystem;
pub(crate) mod layout_version;
pub(crate) mod lock_file;
pub(crate) mod record;

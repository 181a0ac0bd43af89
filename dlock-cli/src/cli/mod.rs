//! The command line: its arguments, their help, and errors about them.

pub(crate) mod args;
mod bench;
pub(crate) mod help;
mod hints;
pub(crate) mod migrate;
pub(crate) mod name;
pub(crate) mod usage;
mod version;

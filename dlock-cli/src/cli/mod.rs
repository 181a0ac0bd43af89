//! The command line: its arguments, their help, and errors about them.

pub(crate) mod args;
mod bench;
pub(crate) mod help;
pub(crate) mod name;
pub(crate) mod usage;

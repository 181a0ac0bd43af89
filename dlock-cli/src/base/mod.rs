//! Shared parts of all subcommands: exit codes, output, durations, the async runtime, tracing.

pub(crate) mod duration;
pub(crate) mod exit;
pub(crate) mod output;
pub(crate) mod repeat;
pub(crate) mod runtime;
pub(crate) mod trace;

//! `--verbose`: dlock's own traces on stderr.

use std::io::{self, IsTerminal as _};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

/// Prints traces as `verbose` says: 0 nothing, 1 what dlock does, more everything that its drivers
/// do as well.
pub(crate) fn init(verbose: u8) {
    let filter = match verbose {
        0 => return,
        // All crates of dlock: targets are compared by their beginning.
        1 => Targets::new().with_target("dlock", LevelFilter::DEBUG),
        _ => Targets::new().with_default(LevelFilter::TRACE),
    };
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // A broken stderr must not make the program panic.
        .log_internal_errors(false);
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(layer)
        .try_init();
}

//! `--verbose`: dlock's own traces on stderr.

use std::{
    fmt,
    io::{self, IsTerminal as _},
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    Layer,
    filter::Targets,
    layer::{Context, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use crate::base::output::say;

/// The tracing target of the messages why a wait goes on.
const WAITING: &str = "dlock_core::waiting";

/// Prints traces as `verbose` says: 0 only why a wait goes on, 1 what dlock does, more everything that its drivers
/// do as well.
pub(crate) fn init(verbose: u8) {
    let filter = match verbose {
        0 => {
            let filter = Targets::new().with_target(WAITING, LevelFilter::WARN);
            let _ = tracing_subscriber::registry()
                .with(filter)
                .with(Waiting)
                .try_init();
            return;
        }
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

/// Says why a wait goes on, as `dlock` says everything else.
struct Waiting;

impl<S: Subscriber> Layer<S> for Waiting {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Message);
    }
}

struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            say(&format!("waiting: {value:?}"));
        }
    }
}

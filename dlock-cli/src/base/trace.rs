//! `--verbose`: what dlock does, on stderr.

use std::{
    fmt,
    io::{self, IsTerminal as _},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
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

/// The tracing target of the messages who holds a lock in the old store of a migration alone.
const STRAGGLERS: &str = "dlock_layers::migrate::stragglers";

/// So many waits are reported in a run of `bench`, whose tasks all wait for the same server.
const WAITS_MAX: usize = 3;

/// All crates of dlock: targets are compared by their beginning.
const DLOCK: &str = "dlock";

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Nothing,
    /// Why a wait goes on.
    Waits,
    /// Why the first ones of many waits go on.
    FewWaits,
    /// The actions of dlock, in words.
    Words,
    /// The traces of dlock.
    Traces,
    /// The traces of its drivers, too.
    Drivers,
}

impl Detail {
    /// The detail that `-v` was given so many times for.
    pub(crate) fn of(verbose: u8) -> Self {
        match verbose {
            0 => Self::Waits,
            1 => Self::Words,
            2 => Self::Traces,
            _ => Self::Drivers,
        }
    }
}

/// Prints as much as `detail` says from now on.
pub(crate) fn init(detail: Detail) {
    let targets = Targets::new();
    let filter = match detail {
        Detail::Nothing => return,
        Detail::Waits | Detail::FewWaits => {
            let waits = [WAITING, STRAGGLERS].map(|target| (target, LevelFilter::WARN));
            let max = match detail {
                Detail::FewWaits => WAITS_MAX,
                _ => usize::MAX,
            };
            return in_words(targets.with_targets(waits), max);
        }
        Detail::Words => {
            return in_words(targets.with_target(DLOCK, LevelFilter::INFO), usize::MAX);
        }
        Detail::Traces => targets.with_target(DLOCK, LevelFilter::DEBUG),
        Detail::Drivers => targets.with_default(LevelFilter::TRACE),
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

fn in_words(filter: Targets, waits_max: usize) {
    let waits = AtomicUsize::new(waits_max);
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(Words { waits })
        .try_init();
}

/// Says what happens, as `dlock` says everything else.
struct Words {
    /// How many waits are still reported.
    waits: AtomicUsize,
}

impl Words {
    /// How many waits are still reported after this one; `None` if it is not.
    fn one_wait_less(&self) -> Option<usize> {
        let one_less = |left: usize| left.checked_sub(1);
        let before = self.waits.fetch_update(Relaxed, Relaxed, one_less);
        before.ok()?.checked_sub(1)
    }
}

impl<S: Subscriber> Layer<S> for Words {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        let Line { message, fields } = line;
        let is_wait = matches!(event.metadata().target(), WAITING | STRAGGLERS);
        let left = match is_wait {
            true => self.one_wait_less(),
            false => Some(usize::MAX),
        };
        let Some(left) = left else { return };
        let prefix = if is_wait { "waiting: " } else { "" };
        say(&match fields.as_str() {
            "" => format!("{prefix}{message}"),
            fields => format!("{prefix}{message} ({fields})"),
        });
        if left == 0 {
            say("waiting: further waits are not shown; -v shows them");
        }
    }
}

/// An event, with the fields beside its message as `name: value, …`.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
            return;
        }
        let comma = if self.fields.is_empty() { "" } else { ", " };
        self.fields += &format!("{comma}{}: {value:?}", field.name());
    }
}

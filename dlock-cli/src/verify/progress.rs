//! The progress of one store, on a terminal.

use std::{convert::Infallible, sync::Arc, time::Duration};

use console::Term;
use dlock::{BootInstant, Clock};
use dlock_core::toolkit::Lock;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::base::output;

/// How often the bar moves.
const TICK_EVERY: Duration = Duration::from_millis(200);

/// A narrower terminal has no room for a bar beside the words.
const BAR_COLUMNS: u16 = 70;

/// The bar of one store; each clone moves the same.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    state: Arc<Lock<State>>,
}

#[derive(Debug, Default)]
struct State {
    phase: String,
    cases: usize,
    done: usize,
}

impl Progress {
    /// A bar among those of other stores, for `run_for`.
    pub(crate) fn new(bars: &MultiProgress, url: &str, run_for: Duration) -> Self {
        let bar = bars.add(ProgressBar::new(run_for.as_secs()));
        let columns = Term::stderr().size_checked().map(|(_, columns)| columns);
        let template = match columns {
            Some(..BAR_COLUMNS) => "{pos:>3}/{len} s  {wide_msg}",
            _ => "{bar:24} {pos:>3}/{len} s  {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(url.to_owned());
        Self {
            bar,
            state: Arc::default(),
        }
    }

    /// Moves the bar with the time, without an end.
    ///
    /// # Cancel safety
    ///
    /// Safe: the bar stops.
    pub(crate) async fn follow(&self, start: BootInstant) -> Infallible {
        let clock = Clock::boottime();
        loop {
            self.bar.set_position(clock.now().since(start).as_secs());
            tokio::time::sleep(TICK_EVERY).await;
        }
    }

    /// The next phase begins.
    pub(crate) fn phase(&self, phase: &str) {
        *self.state.lock() = State {
            phase: phase.to_owned(),
            ..State::default()
        };
        self.show();
    }

    /// So many cases will be run.
    pub(crate) fn cases(&self, cases: usize) {
        self.state.lock().cases = cases;
        self.show();
    }

    /// A case has ended.
    pub(crate) fn case_done(&self) {
        self.state.lock().done += 1;
        self.show();
    }

    /// Says something about the store in a line of its own, with and without a terminal.
    pub(crate) fn say(&self, words: &str) {
        let line = format!("{}: {words}", self.bar.prefix());
        self.bar.suspend(|| output::say(&line));
    }

    /// The bar goes away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self) {
        let message = {
            let State { phase, cases, done } = &*self.state.lock();
            let url = self.bar.prefix();
            match cases {
                0 => format!("{phase}  {url}"),
                _ => format!("{phase} {done}/{cases}  {url}"),
            }
        };
        self.bar.set_message(message);
    }
}

//! The progress bar, which only a terminal shows.

use indicatif::{ProgressBar, ProgressStyle};

/// The steps of the bar.
const STEPS: u64 = 1_000;

pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(STEPS);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %  {wide_msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Shows how much is done, from 0 to 1, and what is under way.
    pub(super) fn show(&self, done: f64, what: &str) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a step of the bar"
        )]
        let step = (done.clamp(0.0, 1.0) * STEPS as f64) as u64;
        self.0.set_position(step);
        self.0.set_message(what.to_owned());
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

//! The progress bar, which only a terminal shows.

use console::{Term, truncate_str};
use indicatif::{ProgressBar, ProgressStyle};

/// The steps of the bar.
const STEPS: u64 = 1_000;

/// The bar of a wide terminal, and from which width on.
const BAR: usize = 24;
const WIDE: usize = 60;

/// The bar of a narrow one.
const BAR_SHORT: usize = 8;

/// The width of the percentage, with the spaces around it.
const PERCENT: usize = 8;

pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(STEPS);
        let template = format!("{{bar:{}}} {{percent:>3}} %  {{msg}}", bar_of(width()));
        if let Ok(style) = ProgressStyle::with_template(&template) {
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
        let room = message_of(width());
        self.0
            .set_message(truncate_str(what, room, "…").into_owned());
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

fn width() -> usize {
    let (_, columns) = Term::stderr().size();
    columns.into()
}

fn bar_of(width: usize) -> usize {
    if width < WIDE { BAR_SHORT } else { BAR }
}

/// The room for the message. The last column stays free: some terminals go on in the next line after it, and each
/// drawing would then be a line more.
fn message_of(width: usize) -> usize {
    width.saturating_sub(bar_of(width) + PERCENT + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shorter_than_the_terminal() {
        for width in [20, 40, 59, 60, 80, 200] {
            let line = bar_of(width) + PERCENT + message_of(width);
            assert!(line < width, "{line} of {width}");
        }
        assert_eq!(message_of(10), 0);
    }
}

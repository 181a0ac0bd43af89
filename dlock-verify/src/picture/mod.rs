//! The picture of a violation: what proves it, in 30 lines at most.
//!
//! A time axis, the two clients that the check names, the faults of that time, and the violation in words.
//!
//! ```
//! use dlock_verify::{checker::{Facts, exclusion}, history::{Event, EventKind}, picture::picture};
//!
//! let ms = 1_000_000;
//! let mut events = Vec::new();
//! for client in [3, 6] {
//!     let at = u64::from(client) * 10 * ms;
//!     let name = "n07".into();
//!     let (op, shared, waits) = (0, false, true);
//!     events.push(Event::new(at, client, EventKind::Requested { op, name, shared, waits }));
//!     let (token, until) = (client.into(), at + 100 * ms);
//!     events.push(Event::new(at + 5 * ms, client, EventKind::Granted { op, token, until }));
//! }
//! let facts: Facts = events.iter().collect();
//! let verdict = exclusion(&facts);
//! let text = picture(&verdict.violations()[0], &facts, &["seed 7"]);
//! assert!(text.starts_with("K1 is broken: \"n07\" was held twice for 65 ms"));
//! assert!(text.lines().count() <= 30);
//! ```

mod canvas;
mod scene;

use self::{
    canvas::Canvas,
    scene::{Scene, scene},
};
use crate::checker::{Facts, Violation};

/// The most lines that a picture has. What is beyond it is counted in its last line.
pub const LINES_MAX: usize = 30;

/// The picture of `violation`, with `notes` at its end: the seed, and how to run it again.
#[must_use]
pub fn picture(violation: &Violation, facts: &Facts, notes: &[&str]) -> String {
    let Scene { title, span, lanes } = scene(violation, facts);
    let mut lines = vec![title];
    if let Some(span) = span {
        let canvas = Canvas::new(span);
        lines.push(canvas.axis());
        lines.extend(lanes.iter().map(|lane| canvas.lane(lane)));
    }
    lines.push(format!(" {violation}"));
    let rest = LINES_MAX.saturating_sub(lines.len());
    lines.extend(notes.iter().take(rest).map(|note| format!(" {note}")));
    lines.join("\n") + "\n"
}

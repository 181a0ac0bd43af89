//! A node that does not answer is passed over for a moment, so that it costs a time-out only once.

use std::time::Duration;

use dlock_core::{BootInstant, toolkit::Lock};

/// A silent node is not waited for during this time. Then one acquire asks it again, beside the others.
const PASSED_OVER_FOR: Duration = Duration::from_secs(1);

/// How a node is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// It answered the last time: its answer is waited for.
    Normally,
    /// It was silent, and it is time to ask again. Its answer is taken if it comes before the others'.
    AsProbe,
    /// It was silent a moment ago.
    Never,
}

/// Until when a node is passed over, because it was silent.
#[derive(Debug, Default)]
pub(super) struct Silence(Lock<Option<BootInstant>>);

impl Silence {
    /// The node has not answered in time.
    pub(super) fn begin(&self, now: BootInstant) {
        *self.0.lock() = Some(now.after(PASSED_OVER_FOR));
    }

    /// The node has answered in time.
    pub(super) fn end(&self) {
        *self.0.lock() = None;
    }

    /// How the next acquire asks the node. One caller is the probe, until the next time.
    pub(super) fn asked(&self, now: BootInstant) -> Asked {
        let mut until = self.0.lock();
        match *until {
            None => Asked::Normally,
            Some(end) if now < end => Asked::Never,
            Some(_) => {
                *until = Some(now.after(PASSED_OVER_FOR));
                Asked::AsProbe
            }
        }
    }

    /// Whether the node was silent the last time.
    pub(super) fn is_silent(&self) -> bool {
        self.0.lock().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_asks_a_silent_node_again() {
        let (silence, start) = (Silence::default(), BootInstant::from_nanos(0));
        assert_eq!(silence.asked(start), Asked::Normally);
        silence.begin(start);
        assert_eq!(
            silence.asked(start.after(PASSED_OVER_FOR / 2)),
            Asked::Never
        );
        let later = start.after(PASSED_OVER_FOR);
        assert_eq!(silence.asked(later), Asked::AsProbe);
        assert_eq!(silence.asked(later), Asked::Never);
        silence.end();
        assert_eq!(silence.asked(later), Asked::Normally);
    }
}

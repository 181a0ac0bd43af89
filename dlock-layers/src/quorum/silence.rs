//! A node that does not answer is passed over for a moment, so that it costs a time-out only once.

use std::time::Duration;

use dlock_core::{BootInstant, toolkit::Lock};

/// A silent node is not waited for during this time. Then one acquire tries it again, beside the others.
const PASSED_OVER_FOR: Duration = Duration::from_secs(1);

/// The role of a node in an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A node that answered the last time: its answer is waited for.
    Normal,
    /// A node that was silent for some time: it is probed, beside the others.
    Probe,
    /// A node that was silent a moment ago.
    None,
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

    /// The role of the node in the next acquire. One caller is the probe, until the next time.
    pub(super) fn role(&self, now: BootInstant) -> Role {
        let mut until = self.0.lock();
        match *until {
            None => Role::Normal,
            Some(end) if now < end => Role::None,
            Some(_) => {
                *until = Some(now.after(PASSED_OVER_FOR));
                Role::Probe
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
    fn one_caller_tries_a_silent_node_again() {
        let (silence, start) = (Silence::default(), BootInstant::from_nanos(0));
        assert_eq!(silence.role(start), Role::Normal);
        silence.begin(start);
        assert_eq!(silence.role(start.after(PASSED_OVER_FOR / 2)), Role::None);
        let later = start.after(PASSED_OVER_FOR);
        assert_eq!(silence.role(later), Role::Probe);
        assert_eq!(silence.role(later), Role::None);
        silence.end();
        assert_eq!(silence.role(later), Role::Normal);
    }
}

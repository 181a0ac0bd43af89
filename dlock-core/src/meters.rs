//! What a locker counts, by the `metrics` crate: per backend, never per name, so that the number of
//! series is bounded. Without a recorder each costs some nanoseconds.

use std::time::Duration;

use metrics::{counter, gauge, histogram};

use crate::error::{Error, ErrorKind};

/// The meters of one locker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meters {
    backend: &'static str,
}

impl Meters {
    pub(crate) fn new(backend: &'static str) -> Self {
        Self { backend }
    }

    /// An attempt begins to wait.
    pub(crate) fn waiting(self) {
        gauge!("dlock_waiting", "backend" => self.backend).increment(1.0);
    }

    /// An attempt has ended, after `waited`, or was dropped.
    pub(crate) fn waited(self, waited: Duration) {
        gauge!("dlock_waiting", "backend" => self.backend).decrement(1.0);
        histogram!("dlock_wait_seconds", "backend" => self.backend).record(waited);
    }

    pub(crate) fn granted(self) {
        counter!("dlock_grants_total", "backend" => self.backend).increment(1);
        gauge!("dlock_held", "backend" => self.backend).increment(1.0);
    }

    pub(crate) fn failed(self, error: &Error) {
        match error.kind() {
            ErrorKind::Contended => {
                counter!("dlock_contended_total", "backend" => self.backend).increment(1);
            }
            ErrorKind::Unavailable => {
                counter!("dlock_unavailable_total", "backend" => self.backend).increment(1);
            }
            _ => {}
        }
    }

    /// A hold has ended, by release or loss.
    pub(crate) fn ended(self, held_for: Duration) {
        gauge!("dlock_held", "backend" => self.backend).decrement(1.0);
        histogram!("dlock_hold_seconds", "backend" => self.backend).record(held_for);
    }

    pub(crate) fn lost(self, held_for: Duration) {
        counter!("dlock_lost_total", "backend" => self.backend).increment(1);
        self.ended(held_for);
    }

    /// A renewal begins `lag` after it was due.
    pub(crate) fn renewal_lag(self, lag: Duration) {
        histogram!("dlock_renew_lag_seconds", "backend" => self.backend).record(lag);
    }
}

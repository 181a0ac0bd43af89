//! The reports of a store during the wait for its lock (K6).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use dlock_core::{backend::WaitReport, toolkit::Lock};
use tokio::sync::Notify;

/// The reports of a store in one wait.
#[derive(Default)]
pub(crate) struct Reports {
    is_contended: AtomicBool,
    is_unavailable: AtomicBool,
    /// The reason of the last report that it cannot be reached.
    why: Lock<Option<String>>,
    changed: Notify,
}

impl Reports {
    /// Whether its last report was that the lock is taken: it answers.
    pub(crate) fn is_contended(&self) -> bool {
        self.is_contended.load(Ordering::Acquire)
    }

    /// Ends with the first report that the store cannot be reached, also an earlier one; once.
    pub(crate) async fn unavailable(&self) {
        self.changed.notified().await;
    }

    /// Ends when the store has reported that it cannot be reached, or nothing for `answer_max`.
    pub(crate) async fn until_silent(&self, answer_max: Duration) {
        loop {
            tokio::select! {
                () = self.unavailable() => return,
                () = tokio::time::sleep(answer_max) => {}
            }
            if !self.is_contended() {
                return;
            }
        }
    }

    /// The reason for which it grants nothing, if it has reported one.
    pub(crate) fn why(&self) -> Option<String> {
        self.why.lock().clone()
    }

    pub(crate) fn take(&self, report: WaitReport<'_>) {
        let is_contended = matches!(report, WaitReport::Contended(_));
        if let WaitReport::Unavailable(why) = report {
            *self.why.lock() = Some(why.to_string());
        }
        self.is_contended.store(is_contended, Ordering::Release);
        if !is_contended && !self.is_unavailable.swap(true, Ordering::AcqRel) {
            // A permit is kept for a wait that begins later.
            self.changed.notify_one();
        }
    }
}

//! Keeping a carrier alive, by a loop of our own: the driver's stream neither comes back nor has a
//! time-out (T21).

use std::time::Duration;

use dlock_core::{BootInstant, toolkit::Backoff};
use tokio::time::timeout;

use crate::lease::etcd_lease::{Carrier, Proof};

/// It is kept alive after this part of its ttl, so that many tries fit in.
const KEEP_PART: u32 = 6;

/// Whether it is used at all is looked at as often at least, however long its ttl (K12).
const UNUSED_LOOK_EVERY: Duration = Duration::from_secs(5);

/// Those who wait are asked once in this part of its ttl whether anybody polls them.
const ASK_PART: u32 = 2;

/// Why the loop has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The lease is over.
    Over,
    /// Nobody needs it.
    Unused,
}

impl Carrier {
    /// Keeps it alive until it is over, or `is_needed` says no.
    ///
    /// It is over when the store says so, and when no keep-alive was confirmed for its whole ttl: one
    /// that is confirmed later must not bring back what its holders have given up (K4).
    pub(crate) async fn keep(&self, is_needed: impl Fn() -> bool) -> Kept {
        let mut pause = Backoff::new();
        let mut wait = self.granted / KEEP_PART;
        let mut ask_at = self.session.clock.now();
        loop {
            let end = self.kept().instant().after(self.granted);
            let due = self.session.clock.now().after(wait).min(end);
            tokio::select! {
                biased;
                () = self.unneeded_before(due, &is_needed) => return Kept::Unused,
                () = self.session.clock.sleep_until(due) => {}
                () = self.wanted.notified() => {}
            }
            let now = self.session.clock.now();
            if now >= ask_at {
                self.seats.ask(now, now.before(self.granted));
                ask_at = now.after(self.granted / ASK_PART);
            }
            let left = end.since(now);
            if left.is_zero() {
                self.give_up();
                return Kept::Over;
            }
            match timeout(left, self.keep_alive()).await {
                Ok(Ok(Proof::Since(_) | Proof::Outdated)) => {
                    (pause, wait) = (Backoff::new(), self.granted / KEEP_PART);
                }
                Ok(Ok(Proof::Over)) => return Kept::Over,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a lease was not kept alive yet");
                    wait = pause.next_pause().min(self.granted / KEEP_PART);
                }
                // Its end has come.
                Err(_) => wait = Duration::ZERO,
            }
        }
    }

    /// Ends when `is_needed` says no, which it is asked at `due` at the latest.
    async fn unneeded_before(&self, due: BootInstant, is_needed: &impl Fn() -> bool) {
        loop {
            let clock = &self.session.clock;
            clock
                .sleep_until(due.min(clock.now().after(UNUSED_LOOK_EVERY)))
                .await;
            if !is_needed() {
                return;
            }
            if clock.now() >= due {
                return std::future::pending().await;
            }
        }
    }
}

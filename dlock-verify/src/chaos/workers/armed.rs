//! Triggers that wait for their event.

use dlock_core::toolkit::Lock;
use tokio::sync::oneshot;

/// An event of a worker that a trigger may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::chaos) enum Occasion {
    /// A grant of the name with this number.
    Grant(usize),
    /// A holder whose name others request is about to write.
    BeforeWrite,
    /// A waiter requests a name that is held.
    Queued,
}

/// The triggers that wait at present.
#[derive(Debug, Default)]
pub(super) struct Armed(Lock<Vec<Waiting>>);

#[derive(Debug)]
struct Waiting {
    occasion: Occasion,
    left: u32,
    fire: Option<oneshot::Sender<usize>>,
}

impl Armed {
    /// Waits until `occasion` has come `nth` times from now on; the worker that it then happened to.
    pub(super) async fn occurs(&self, occasion: Occasion, nth: u32) -> usize {
        let (fire, fired) = oneshot::channel();
        self.0.lock().push(Waiting {
            occasion,
            left: nth.max(1),
            fire: Some(fire),
        });
        // The sender is dropped only when it is used.
        fired.await.unwrap_or_default()
    }

    /// An event has happened to a worker.
    pub(super) fn observe(&self, occasion: Occasion, worker: usize) {
        self.0.lock().retain_mut(|waiting| {
            if waiting.occasion == occasion {
                waiting.left -= 1;
            }
            // The wait may be over.
            let is_closed = waiting.fire.as_ref().is_none_or(oneshot::Sender::is_closed);
            if waiting.left == 0
                && let Some(fire) = waiting.fire.take()
            {
                let _ = fire.send(worker);
            }
            waiting.left > 0 && !is_closed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_nth_occasion_fires() {
        let armed = Armed::default();
        let observe = async {
            for (occasion, worker) in [
                (Occasion::Grant(3), 1),
                (Occasion::Queued, 2),
                (Occasion::Grant(4), 3),
                (Occasion::Grant(3), 4),
                (Occasion::Grant(3), 5),
            ] {
                armed.observe(occasion, worker);
            }
        };
        let (worker, ()) = tokio::join!(armed.occurs(Occasion::Grant(3), 2), observe);
        assert_eq!(worker, 4);
        assert!(armed.0.lock().is_empty());
    }
}

//! A worker's end of the pipes to its parent.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_verify::{
    support::Outcome,
    worker::{read_orders, say},
};
use tokio::sync::{Mutex, Notify, mpsc};

use super::{
    protocol::{Order, Report},
    workload::FencedStore,
};

/// Answers that may be queued: a worker has one access in flight.
const ANSWERS_MAX: usize = 1;

/// The orders from the parent.
pub(super) struct Pipe {
    answers: Mutex<mpsc::Receiver<Option<u64>>>,
    release: Arc<Notify>,
}

impl Pipe {
    /// Starts a thread that reads orders and ends the process when its parent is gone.
    pub(super) fn open() -> Self {
        let (sender, answers) = mpsc::channel(ANSWERS_MAX);
        let release = Arc::new(Notify::new());
        let ordered = release.clone();
        read_orders(move |order| match order {
            Order::Answer(value) => drop(sender.blocking_send(value)),
            Order::Release => ordered.notify_one(),
        });
        Self {
            answers: Mutex::new(answers),
            release,
        }
    }

    /// Waits for the order to release.
    pub(super) async fn release_ordered(&self) {
        self.release.notified().await;
    }
}

#[async_trait]
impl FencedStore for Pipe {
    async fn access(&self, name: &str, token: u64, wrote: Option<u64>) -> Outcome<Option<u64>> {
        let mut answers = self.answers.lock().await;
        say(&Report::Access {
            name: name.to_owned(),
            token,
            wrote,
        });
        Ok(answers.recv().await.ok_or("the parent is gone")?)
    }
}

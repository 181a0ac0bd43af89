//! The registers and orders of the parent, for the tasks of a worker.

use dlock_core::toolkit::Lock;
use tokio::sync::{Mutex, mpsc, watch};

use super::protocol::{Order, Report};
use crate::{
    history::RegisterKind,
    worker::{read_orders, say},
};

/// Answers that may be queued: a task has one access in flight.
const ANSWERS_MAX: usize = 1;

/// The parent's wish for the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Work,
    /// With the number of the pause.
    Pause(u64),
    End,
}

/// The parent's side of a worker.
pub(super) struct Remote {
    answers: Vec<Mutex<mpsc::Receiver<Option<u64>>>>,
    wish: watch::Sender<Wish>,
    /// The last pause, and how many tasks keep it.
    paused: Lock<(u64, usize)>,
}

impl Remote {
    /// Begins to read orders for so many tasks; `count` obeys [`Order::Count`].
    pub(super) fn open(tasks: usize, count: impl Fn() + Send + 'static) -> Self {
        let (senders, answers): (Vec<_>, Vec<_>) =
            (0..tasks).map(|_| mpsc::channel(ANSWERS_MAX)).unzip();
        let wish = watch::Sender::new(Wish::Work);
        let wished = wish.clone();
        read_orders(move |order| match order {
            Order::Answer { task, value } => {
                if let Some(sender) = senders.get(task) {
                    let _ = sender.blocking_send(value);
                }
            }
            Order::Pause { number } => drop(wished.send_replace(Wish::Pause(number))),
            Order::Resume => drop(wished.send_replace(Wish::Work)),
            Order::End => drop(wished.send_replace(Wish::End)),
            Order::Count => count(),
        });
        Self {
            answers: answers.into_iter().map(Mutex::new).collect(),
            wish,
            paused: Lock::default(),
        }
    }

    /// Reads a register under a token, or writes: its value, or `None` when it refuses.
    pub(super) async fn access(
        &self,
        task: usize,
        register: RegisterKind,
        name: &str,
        token: u64,
        wrote: Option<u64>,
    ) -> Option<u64> {
        let mut answers = self.answers.get(task)?.lock().await;
        say(&Report::Access {
            task,
            register,
            name: name.to_owned(),
            token,
            wrote,
        });
        answers.recv().await.flatten()
    }

    /// Waits until the task shall not work.
    pub(super) async fn interrupted(&self) {
        let mut wish = self.wish.subscribe();
        // The sender lives as long as `self`.
        let _ = wish.wait_for(|wish| *wish != Wish::Work).await;
    }

    /// Waits while the task shall pause; whether it shall work then.
    pub(super) async fn goes_on(&self) -> bool {
        let mut wish = self.wish.subscribe();
        loop {
            let present = *wish.borrow_and_update();
            let Wish::Pause(number) = present else {
                return present == Wish::Work;
            };
            self.pause(number);
            let _ = wish.wait_for(|wish| *wish != Wish::Pause(number)).await;
        }
    }

    /// A task keeps this pause; the last one reports it.
    fn pause(&self, number: u64) {
        let mut paused = self.paused.lock();
        if paused.0 != number {
            *paused = (number, 0);
        }
        paused.1 += 1;
        if paused.1 == self.answers.len() {
            say(&Report::Paused);
        }
    }
}

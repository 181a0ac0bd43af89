//! The request to stop: a signal, which all parts of a verification notice.

use std::{io, sync::Arc};

use dlock::Clock;
use dlock_core::toolkit::Lock;
use rustix::process::Signal;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::base::{
    exit::Exit,
    output,
    repeat::{Counts, Repeat},
};

/// The signals that end a verification.
const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// Whether the verification shall stop. Each clone sees the same.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<Option<Signal>>);

impl Stop {
    /// Begins to catch signals, until the last clone is dropped. A second one ends the program at once, unless it is
    /// the first one once more.
    pub(crate) fn catch() -> io::Result<Self> {
        let (sender, receiver) = watch::channel(None);
        let (clock, repeat) = (Clock::boottime(), Arc::new(Lock::new(Repeat::default())));
        for kind in SIGNALS {
            let mut caught = signal(SignalKind::from_raw(kind.as_raw()))?;
            let (sender, clock, repeat) = (sender.clone(), clock.clone(), repeat.clone());
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        Some(()) = caught.recv() => {}
                        () = sender.closed() => return,
                    }
                    match repeat.lock().count(clock.now()) {
                        Counts::First => drop(sender.send_replace(Some(kind))),
                        Counts::Same => {}
                        Counts::Second => {
                            output::say(
                                "stopped a second time: locks may be left until they expire",
                            );
                            std::process::exit(Exit::by_signal(kind).code());
                        }
                    }
                }
            });
        }
        Ok(Self(receiver))
    }

    /// The signal, if there was one.
    pub(crate) fn signal(&self) -> Option<Signal> {
        *self.0.borrow()
    }

    /// Waits for a signal, without a bound.
    ///
    /// # Cancel safety
    ///
    /// Safe: the signal is seen by later calls, too.
    pub(crate) async fn requested(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(Option::is_some).await.is_err() {
            // No signal comes any more.
            std::future::pending::<()>().await;
        }
    }
}

//! The signals that end a run.

use std::io;

use dlock::Clock;
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

use crate::base::{
    exit::{Exit, Failure},
    repeat::{Counts, Repeat},
};

/// Catches Ctrl-C and its like from here on.
pub(super) struct Interrupt {
    streams: [(Signal, unix::Signal); 3],
    clock: Clock,
    repeat: Repeat,
}

impl Interrupt {
    /// # Errors
    ///
    /// When the system refuses it.
    pub(super) fn catch() -> io::Result<Self> {
        let stream = |signal: Signal| {
            let kind = SignalKind::from_raw(signal.as_raw());
            unix::signal(kind).map(|stream| (signal, stream))
        };
        Ok(Self {
            streams: [
                stream(Signal::INT)?,
                stream(Signal::TERM)?,
                stream(Signal::HUP)?,
            ],
            clock: Clock::boottime(),
            repeat: Repeat::default(),
        })
    }

    /// Waits for a signal, and returns the end of the program by it. The same signal once more is none.
    ///
    /// # Cancel safety
    ///
    /// Safe: none is lost.
    pub(super) async fn next(&mut self) -> Failure {
        let [(int, on_int), (term, on_term), (hup, on_hup)] = &mut self.streams;
        loop {
            let signal = tokio::select! {
                _ = on_int.recv() => *int,
                _ = on_term.recv() => *term,
                _ = on_hup.recv() => *hup,
            };
            if self.repeat.count(self.clock.now()) != Counts::Same {
                return Failure::new(Exit::by_signal(signal), "interrupted");
            }
        }
    }
}

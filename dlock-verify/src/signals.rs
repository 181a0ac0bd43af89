//! The signals that end a run, and which of them are one request.

use std::{io, time::Duration};

use dlock_core::{BootInstant, Clock};
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// A second signal within this time of the first one counts as the same.
const SAME_WITHIN: Duration = Duration::from_millis(500);

/// Catches Ctrl-C and its like: INT, TERM and HUP.
#[derive(Debug)]
pub struct Interrupt {
    streams: [(Signal, unix::Signal); 3],
    clock: Clock,
    repeat: Repeat,
}

impl Interrupt {
    /// Catches them from here on, until the process ends.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    ///
    /// # Panics
    ///
    /// Outside a runtime of tokio.
    pub fn catch() -> io::Result<Self> {
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

    /// Waits for a signal. The same request once more is none. Of signals that are noticed together, INT is the first.
    ///
    /// # Cancel safety
    ///
    /// Safe: none is lost.
    pub async fn next(&mut self) -> Signal {
        let [(int, on_int), (term, on_term), (hup, on_hup)] = &mut self.streams;
        loop {
            let signal = tokio::select! {
                biased;
                _ = on_int.recv() => *int,
                _ = on_term.recv() => *term,
                _ = on_hup.recv() => *hup,
            };
            if self.repeat.count(self.clock.now()) != Counts::Same {
                return signal;
            }
        }
    }
}

/// When the first signal came. `timeout` signals a program and then its group, so that the program gets two.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeat(Option<BootInstant>);

/// How a signal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller handles each of them")]
pub enum Counts {
    /// The first one: stop, and clean up.
    First,
    /// The first one once more.
    Same,
    /// A second request: end at once.
    Second,
}

impl Repeat {
    /// Counts a signal that comes `now`.
    pub fn count(&mut self, now: BootInstant) -> Counts {
        match self.0 {
            None => {
                self.0 = Some(now);
                Counts::First
            }
            Some(first) if now.since(first) < SAME_WITHIN => Counts::Same,
            Some(_) => Counts::Second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_signals_within_a_moment_are_one() {
        let at = |millis: u64| BootInstant::from_nanos(millis * 1_000_000);
        let mut repeat = Repeat::default();
        assert_eq!(repeat.count(at(1_000)), Counts::First);
        assert_eq!(repeat.count(at(1_000)), Counts::Same);
        assert_eq!(repeat.count(at(1_499)), Counts::Same);
        // Counted from the first one, so that many of them end it.
        assert_eq!(repeat.count(at(1_500)), Counts::Second);
    }
}

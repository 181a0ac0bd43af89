//! The signals that dlock receives on behalf of the command.

use std::{
    fs,
    future::{poll_fn, ready},
    io,
    task::{Context, Poll},
};

use rustix::process::{Signal, getpid, kill_process};
use tokio::{
    select,
    signal::unix::{self, SignalKind},
};

use crate::run::{child::Process, terminal::Terminal};

/// The signals that are always caught and passed on.
const ALWAYS: [Signal; 4] = [Signal::TERM, Signal::HUP, Signal::USR1, Signal::USR2];

/// The signals that a terminal sends to the command and to dlock alike. They are caught, so that dlock
/// lives to release and to report, and passed on only where there is no terminal.
const KEYS: [Signal; 2] = [Signal::INT, Signal::QUIT];

/// The signals that are passed on only where there is no terminal. Where there is one they are not caught:
/// there, Ctrl-Z stops dlock and the command together.
const JOB_CONTROL: [Signal; 3] = [Signal::TSTP, Signal::CONT, Signal::WINCH];

/// All signals that are caught, from [`Signals::catch`] on.
pub(crate) struct Signals {
    streams: Vec<(Signal, unix::Signal)>,
    terminal: Terminal,
}

impl Signals {
    /// Begins to catch signals. One that was ignored when dlock was started stays so, also for the
    /// command: `nohup dlock run …` survives its terminal.
    pub(crate) fn catch(terminal: Terminal) -> io::Result<Self> {
        let job_control = match terminal {
            Terminal::Present => &[][..],
            Terminal::Absent => &JOB_CONTROL[..],
        };
        let ignored = Ignored::read();
        let mut streams = Vec::new();
        for &signal in ALWAYS.iter().chain(&KEYS).chain(job_control) {
            if !ignored.contains(signal) {
                streams.push((signal, unix::signal(SignalKind::from_raw(signal.as_raw()))?));
            }
        }
        // Where our parent ignored it, the system would throw away the command's exit code.
        drop(unix::signal(SignalKind::child())?);
        Ok(Self { streams, terminal })
    }

    /// Makes a receiver without signals.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self {
            streams: Vec::new(),
            terminal: Terminal::Absent,
        }
    }

    /// Waits for the next signal.
    ///
    /// # Cancel safety
    ///
    /// Safe: none is lost. Equal ones that arrive together count once, as signals do.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Waits for a signal that ends dlock while there is no command to pass it on to.
    ///
    /// # Cancel safety
    ///
    /// Safe: none is lost.
    pub(crate) async fn ending(&mut self) -> Signal {
        loop {
            match self.next().await {
                Signal::TSTP => stop_self(),
                Signal::CONT | Signal::WINCH => {}
                signal => return signal,
            }
        }
    }

    /// A signal that has arrived already and would have [ended](Self::ending) dlock.
    pub(crate) async fn arrived_ending(&mut self) -> Option<Signal> {
        // The runtime polls for signals while this task yields.
        tokio::task::yield_now().await;
        select! {
            biased;
            signal = self.ending() => Some(signal),
            () = ready(()) => None,
        }
    }

    /// Sends `command`, which was just started, the signals that arrived before. It was not there to get a key from the
    /// terminal.
    ///
    /// True if there were any.
    pub(crate) async fn send_early(&mut self, command: &impl Process) -> bool {
        let mut were_any = false;
        if self.terminal == Terminal::Present {
            while let Some(signal) = self.arrived_ending().await {
                // What the terminal has sent to it, too, has ended it before it became the command.
                if self.passes_on(signal) || !command.has_begun() {
                    command.send(signal);
                }
                were_any = true;
            }
        }
        were_any
    }

    /// Whether the command does not get `signal` from the terminal anyway.
    pub(crate) fn passes_on(&self, signal: Signal) -> bool {
        self.terminal == Terminal::Absent || !KEYS.contains(&signal)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        for (signal, stream) in &mut self.streams {
            if let Poll::Ready(Some(())) = stream.poll_recv(cx) {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    }
}

/// Stops this process until it gets SIGCONT: what SIGTSTP does to a program that does not catch it.
pub(crate) fn stop_self() {
    // A process may always signal itself.
    let _ = kill_process(getpid(), Signal::STOP);
}

/// The signals that the process that started dlock has set to be ignored.
struct Ignored(u64);

impl Ignored {
    /// Reads them from the kernel; where it does not say, none is ignored.
    fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self(Self::parse(&status).unwrap_or(0))
    }

    fn parse(status: &str) -> Option<u64> {
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    }

    fn contains(&self, signal: Signal) -> bool {
        self.0 & (1 << (signal.as_raw() - 1)) != 0
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, future::pending, process::ExitStatus, time::Duration};

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\nSigCgt:\t0\n";
        let ignored = Ignored(Ignored::parse(status).expect("mask"));
        assert!(ignored.contains(Signal::HUP) && ignored.contains(Signal::INT));
        assert!(ignored.contains(Signal::PIPE) && !ignored.contains(Signal::TERM));
        assert_eq!(Ignored::parse("Name:\tdlock\n"), None);
    }

    #[test]
    fn what_the_terminal_sends_to_both_is_not_sent_twice() {
        let signals = |terminal| Signals {
            streams: Vec::new(),
            terminal,
        };
        for key in KEYS {
            assert!(!signals(Terminal::Present).passes_on(key));
            assert!(signals(Terminal::Absent).passes_on(key));
        }
        for signal in ALWAYS {
            assert!(signals(Terminal::Present).passes_on(signal));
            assert!(signals(Terminal::Absent).passes_on(signal));
        }
    }

    /// Notes what it is sent.
    #[derive(Default)]
    struct Heard(RefCell<Vec<Signal>>);

    impl Process for Heard {
        fn send(&self, signal: Signal) {
            self.0.borrow_mut().push(signal);
        }

        fn has_begun(&self) -> bool {
            false
        }

        async fn wait(&mut self) -> io::Result<ExitStatus> {
            pending().await
        }
    }

    #[tokio::test]
    async fn a_signal_of_just_before_the_command_is_sent_to_it() {
        let mut signals = Signals::catch(Terminal::Present).expect("signals");
        let command = Heard::default();
        // Keys come in the same way, but may be ignored in the process of the tests.
        kill_process(getpid(), Signal::USR1).expect("itself");
        // Another thread may be the one that gets it, a moment later.
        let heard = async {
            while command.0.borrow().is_empty() {
                signals.send_early(&command).await;
            }
        };
        timeout(Duration::from_secs(60), heard).await.expect("sent");
        assert_eq!(*command.0.borrow(), [Signal::USR1]);
        signals.send_early(&command).await;
        assert_eq!(command.0.borrow().len(), 1, "once");
    }

    #[tokio::test]
    async fn what_arrived_is_found_without_waiting() {
        let mut none = Signals::none();
        assert_eq!(none.arrived_ending().await, None);
    }
}

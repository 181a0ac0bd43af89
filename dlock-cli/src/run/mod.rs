//! `dlock run`: wait for the lock, run the command under it, release, exit as the command did.

mod child;
mod contended;
mod deadlines;
mod environment;
pub(crate) mod guardian;
mod orphans;
mod program;
pub(crate) mod reexec;
mod signals;
mod supervise;
mod terminal;

use std::{future::Future, pin::pin, time::Duration};

use dlock::{ErrorKind, Guard, LockName, Locker};
use rustix::process::Signal;
use tokio::{select, time::timeout};

use crate::{
    base::{
        duration,
        exit::{Exit, Failure},
        output::{describe, say},
        runtime,
    },
    cli::{
        args::{Global, Run},
        name,
    },
    run::{
        child::Running,
        deadlines::Deadlines,
        signals::Signals,
        supervise::{Ended, supervise},
        terminal::Terminal,
    },
    store::Store,
};

/// How long the release may keep dlock from ending, and then the closing of the store.
const CLEANUP_MAX: Duration = Duration::from_secs(5);

/// How many signals end a wait, and the clean-up after it.
const WAIT_SIGNALS: usize = 1;

/// How many signals end the clean-up after a command. The first one may be the one that ended the
/// command: a terminal, or a system that shuts down, sends it to dlock as well.
const CLEANUP_SIGNALS: usize = 2;

pub(crate) fn main(global: &Global, args: &Run) -> Result<Exit, Failure> {
    let name = name::parse(&args.name)?;
    let store = Store::find(global)?;
    let ttl = args.ttl.unwrap_or_else(|| store.ttl());
    let deadlines = Deadlines::new(ttl, args.grace)?;
    let session = async {
        let terminal = Terminal::of_process();
        let signals = Signals::catch(terminal).map_err(|error| {
            Failure::new(
                Exit::INTERNAL,
                format!("cannot catch signals: {}", describe(&error)),
            )
        })?;
        Session {
            args,
            name,
            ttl,
            deadlines,
            terminal,
            signals,
        }
        .run(store)
        .await
    };
    runtime::block_on(session)
}

/// One `dlock run`.
struct Session<'a> {
    args: &'a Run,
    name: LockName,
    ttl: Duration,
    deadlines: Deadlines,
    terminal: Terminal,
    signals: Signals,
}

impl Session<'_> {
    async fn run(mut self, store: Store) -> Result<Exit, Failure> {
        let locker = match self.unless_ended(WAIT_SIGNALS, store.connect()).await {
            Ok(locker) => locker?,
            Err(signal) => return Ok(Exit::by_signal(signal)),
        };
        tracing::debug!(name = %self.name, ttl = ?self.ttl, "requesting the lock");
        let acquire = acquire(&locker, self.name.clone(), self.args, self.ttl);
        let (result, was_granted) = match self.unless_ended(WAIT_SIGNALS, acquire).await {
            Ok(Ok(guard)) => (self.hold(guard).await, true),
            Ok(Err(failure)) => (Err(failure), false),
            Err(signal) => (Ok(Exit::by_signal(signal)), false),
        };
        let withstands = if was_granted {
            CLEANUP_SIGNALS
        } else {
            WAIT_SIGNALS
        };
        // Takes a wait that was given up out of the queue, and ends sessions. Both end by themselves, but a
        // grant whose answer was lost keeps the lock until then (K9).
        let closed = self
            .unless_ended(withstands, locker.shutdown(CLEANUP_MAX))
            .await;
        if !was_granted && !matches!(closed, Ok(Ok(()))) {
            self.warn_not_undone();
        }
        result
    }

    /// Runs the command under `guard`, and releases it.
    async fn hold(&mut self, guard: Guard) -> Result<Exit, Failure> {
        tracing::debug!(token = %guard.token(), "holding the lock");
        let result = self.command(&guard).await;
        tracing::debug!(?result, "releasing the lock");
        let released = self
            .unless_ended(CLEANUP_SIGNALS, timeout(CLEANUP_MAX, guard.release()))
            .await;
        let lost = match released {
            Ok(Ok(Ok(()))) => false,
            Ok(Ok(Err(error))) if error.kind() == ErrorKind::Lost => true,
            Ok(Ok(Err(error))) => self.warn_unreleased(&error.to_string()),
            Ok(Err(_)) => self.warn_unreleased("the store does not reply"),
            Err(_) => self.warn_unreleased("a signal ended the attempt"),
        };
        match result? {
            Outcome::Signalled(signal) => Ok(Exit::by_signal(signal)),
            Outcome::Ended(ended) if lost || ended.lost => {
                if !ended.was_reported {
                    say(&format!("lost {:?} before the command ended", self.name));
                }
                Ok(Exit::LOST)
            }
            Outcome::Ended(ended) => Ok(Exit::of_command(ended.status)),
        }
    }

    async fn command(&mut self, guard: &Guard) -> Result<Outcome, Failure> {
        // A Ctrl-C of just now must not start the command.
        if let Some(signal) = self.signals.arrived_ending().await {
            return Ok(Outcome::Signalled(signal));
        }
        if let Some(program) = self
            .args
            .command
            .first()
            .filter(|word| program::may_escape(word))
        {
            say(&format!(
                "{program:?} runs its command as another user or in another session, where dlock may not be able to \
                 end it when the lock is lost; safer is the reverse: {} … dlock run …",
                program.display()
            ));
        }
        let mut command = Running::start(self.args, guard, self.terminal)?;
        // One that comes from now on, the terminal sends to the command, too. (One that came just before it
        // was there is lost, and is pressed again: to send it after all would be twice for one that came
        // just after.)
        let deadlines = self.deadlines.within(guard.remaining());
        let ended = supervise(guard, &mut command, &mut self.signals, deadlines).await;
        ended.map(Outcome::Ended).map_err(|error| {
            let why = describe(&error);
            Failure::new(
                Exit::INTERNAL,
                format!("cannot read the command's exit status: {why}"),
            )
        })
    }

    fn warn_unreleased(&self, why: &str) -> bool {
        say(&format!(
            "the release of {:?} is not confirmed ({why}); the lock may stay taken for up to {}",
            self.name,
            duration::show(self.ttl),
        ));
        false
    }

    fn warn_not_undone(&self) {
        say(&format!(
            "the acquire of {:?} could not be undone, as the store does not reply; the lock may stay taken for up to {}",
            self.name,
            duration::show(self.ttl),
        ));
    }

    /// Drives `work` unless `signals` of them end dlock first; for when there is no command to pass
    /// them on to.
    async fn unless_ended<T>(
        &mut self,
        signals: usize,
        work: impl Future<Output = T>,
    ) -> Result<T, Signal> {
        let mut work = pin!(work);
        let mut left = signals;
        loop {
            select! {
                biased;
                done = &mut work => return Ok(done),
                signal = self.signals.ending() => {
                    left -= 1;
                    if left == 0 {
                        return Err(signal);
                    }
                }
            }
        }
    }
}

/// How it went with the command.
#[derive(Debug)]
enum Outcome {
    /// The command was not started.
    Signalled(Signal),
    Ended(Ended),
}

async fn acquire(
    locker: &Locker,
    name: LockName,
    args: &Run,
    ttl: Duration,
) -> Result<Guard, Failure> {
    let mut acquire = locker.acquire(&name).ttl(ttl);
    if let Some(note) = &args.note {
        acquire = acquire.note(note);
    }
    if args.wait.forever {
        acquire = acquire.wait_forever();
    }
    if let Some(wait) = args.wait.time() {
        acquire = acquire.wait(wait);
    }
    match acquire.await {
        Ok(guard) => Ok(guard),
        Err(error) if error.kind() == ErrorKind::Contended => {
            Err(contended::failure(locker, &name, &args.wait).await)
        }
        Err(error) => Err(error.into()),
    }
}

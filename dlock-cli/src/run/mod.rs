//! `dlock run`: wait for the lock, run the command under it, release, exit as the command did.

mod at_least;
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
mod tree;
mod waiting;

use std::{
    future::{Future, IntoFuture as _},
    pin::pin,
    time::Duration,
};

use dlock::{BootInstant, Clock, ErrorKind, Fencing, Guard, LockName, Locker, config::Registry};
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

pub(crate) fn main(registry: &Registry, global: &Global, args: &Run) -> Result<Exit, Failure> {
    let name = name::parse(args.name())?;
    let store = Store::find(registry, global)?;
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
        // In the URL, as a store may derive other times from the ttl.
        let store = store.with("ttl", Some(self.ttl));
        let store = store.with("connect_wait", self.args.wait.for_store());
        let clock = Clock::boottime();
        let began = clock.now();
        let locker = match self.unless_ended(WAIT_SIGNALS, store.connect()).await {
            Ok(locker) => locker?,
            Err(signal) => return Ok(Exit::by_signal(signal)),
        };
        let waited = clock.now().since(began);
        let ttl = duration::show(self.ttl);
        tracing::info!("requesting the lock {:?} for {ttl} at a time", self.name);
        let acquire = acquire(&locker, self.name.clone(), self.args, waited);
        let (result, was_granted) = match self.unless_ended(WAIT_SIGNALS, acquire).await {
            Ok(Ok(guard)) => {
                let waited = duration::measured(clock.now().since(began));
                let fencing = locker.capabilities().fencing;
                match fencing {
                    Fencing::None => tracing::info!("waited {waited} for {:?}", self.name),
                    _ => {
                        let token = guard.token();
                        tracing::info!("waited {waited} for {:?}, token {token}", self.name);
                    }
                }
                (self.hold(guard, fencing, &clock).await, true)
            }
            Ok(Err(failure)) => (contended::end(failure, &self.name, self.args), false),
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
    async fn hold(
        &mut self,
        guard: Guard,
        fencing: Fencing,
        clock: &Clock,
    ) -> Result<Exit, Failure> {
        let granted = clock.now();
        let result = self.command(&guard, fencing).await;
        let ended_before = self.hold_on(&guard, &result, granted).await;
        let released = self
            .unless_ended(CLEANUP_SIGNALS, timeout(CLEANUP_MAX, guard.release()))
            .await;
        let lost = match released {
            Ok(Ok(Ok(()))) => false,
            Ok(Ok(Err(error))) if error.kind() == ErrorKind::Lost => !ended_before,
            Ok(Ok(Err(error))) => self.warn_unreleased(&error.to_string()),
            Ok(Err(_)) => self.warn_unreleased("the store does not reply"),
            Err(_) => self.warn_unreleased("a signal ended the attempt"),
        };
        let held_for = duration::measured(clock.now().since(granted));
        tracing::info!("held {:?} for {held_for}", self.name);
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

    /// Holds the lock of a command that has ended for as long as `--at-least` says. False if there is no such time.
    async fn hold_on(
        &mut self,
        guard: &Guard,
        result: &Result<Outcome, Failure>,
        granted: BootInstant,
    ) -> bool {
        match (result, self.args.at_least) {
            (Ok(Outcome::Ended(ended)), Some(time)) if !ended.lost && !ended.was_signalled => {
                at_least::hold(guard, granted.after(time), &mut self.signals).await;
                true
            }
            _ => false,
        }
    }

    async fn command(&mut self, guard: &Guard, fencing: Fencing) -> Result<Outcome, Failure> {
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
        let mut command = Running::start(self.args, guard, fencing, self.terminal)?;
        // One that comes from now on, the terminal sends to the command, too.
        let was_early = self.signals.send_early(&command).await;
        let deadlines = self.deadlines.within(guard.remaining());
        let ended = supervise(guard, &mut command, &mut self.signals, deadlines).await;
        let ended = ended.map(|ended| Ended {
            was_signalled: ended.was_signalled || was_early,
            ..ended
        });
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

/// Acquires the lock. The time that was `waited` for the store is a part of the wait.
async fn acquire(
    locker: &Locker,
    name: LockName,
    args: &Run,
    waited: Duration,
) -> Result<Guard, Failure> {
    let mut acquire = locker.acquire(&name);
    if let Some(note) = &args.note {
        acquire = acquire.note(note);
    }
    if args.wait.forever {
        acquire = acquire.wait_forever();
    }
    if let Some(wait) = args.wait.time() {
        acquire = acquire.wait(wait.saturating_sub(waited));
    }
    let result = select! {
        biased;
        result = acquire.into_future() => result,
        never = waiting::report(locker, &name, args, waited) => match never {},
    };
    match result {
        Ok(guard) => Ok(guard),
        Err(error) if error.kind() == ErrorKind::Contended && !args.is_silent_if_taken() => {
            Err(contended::failure(locker, &name, &args.wait).await)
        }
        Err(error) => Err(error.into()),
    }
}

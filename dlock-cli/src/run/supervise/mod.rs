//! While the command runs: pass signals on, and end it before its lock ends.

use std::{io, pin::pin, process::ExitStatus};

use dlock::{Guard, LostCause};
use rustix::process::Signal;
use tokio::select;

use crate::{
    base::{duration, output::say},
    run::{
        child::Process,
        deadlines::Deadlines,
        signals::{Signals, stop_self},
    },
};

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Whether it ran, or may have been cut short, because its lock was lost or about to be.
    pub(crate) lost: bool,
    /// Whether the loss was reported to the user.
    pub(crate) was_reported: bool,
    /// Whether dlock got a signal that requests the end.
    pub(crate) was_signalled: bool,
}

/// The last signal that the command was sent. The state only goes forward: a renewal that succeeds after
/// TERM was sent does not take that back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    Nothing,
    Term,
    Kill,
}

/// Watches over `command`, which runs under `guard`, until it has ended.
///
/// When renewals fail it gets TERM and then KILL as `deadlines` say, in time before the deadline. When
/// the store says that the lock is lost there is no time, and it gets both at once.
///
/// # Errors
///
/// The system does not report how the command ended.
pub(crate) async fn supervise(
    guard: &Guard,
    command: &mut impl Process,
    signals: &mut Signals,
    deadlines: Deadlines,
) -> io::Result<Ended> {
    let mut lost = pin!(guard.lost());
    let mut kill_due = pin!(guard.expires_within(deadlines.kill));
    let mut term_due = pin!(guard.expires_within(deadlines.grace));
    let mut sent = Sent::Nothing;
    let mut was_signalled = false;
    let status = loop {
        select! {
            biased;
            status = command.wait() => break status?,
            cause = &mut lost, if sent < Sent::Kill => {
                say_lost(guard, cause);
                end(command);
                command.send(Signal::KILL);
                sent = Sent::Kill;
            }
            () = &mut kill_due, if sent < Sent::Kill => {
                say_killed(guard);
                command.send(Signal::KILL);
                sent = Sent::Kill;
            }
            () = &mut term_due, if sent < Sent::Term => {
                say_expiring(guard);
                end(command);
                sent = Sent::Term;
            }
            signal = signals.next() => {
                was_signalled |= ENDING.contains(&signal);
                pass_on(signal, command, signals);
            }
        }
    };
    let lost = sent > Sent::Nothing || !guard.is_held();
    if lost {
        // What it left in the background must not work on without the lock.
        command.send(Signal::KILL);
    }
    Ok(Ended {
        status,
        lost,
        was_reported: sent > Sent::Nothing,
        was_signalled,
    })
}

/// Sends TERM to the command; a stopped one is continued, or it could not handle the signal.
fn end(command: &impl Process) {
    command.send(Signal::TERM);
    command.send(Signal::CONT);
}

/// The signals that request the end of a command.
const ENDING: [Signal; 4] = [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT];

fn pass_on(signal: Signal, command: &impl Process, signals: &Signals) {
    if signals.passes_on(signal) {
        command.send(signal);
        if ENDING.contains(&signal) {
            // A stopped command, such as one that reads a terminal from the background, cannot handle the signal.
            command.send(Signal::CONT);
        }
    }
    if signal == Signal::TSTP {
        // The shell that we run in waits for us, not for the command.
        stop_self();
    }
}

fn say_expiring(guard: &Guard) {
    say(&format!(
        "the lock {:?} ends in {}, as it could not be renewed or its store was closed; the command gets TERM",
        guard.name(),
        duration::show(guard.remaining()),
    ));
}

fn say_killed(guard: &Guard) {
    say(&format!(
        "the lock {:?} ends now; the command is killed",
        guard.name()
    ));
}

fn say_lost(guard: &Guard, cause: LostCause) {
    say(&format!(
        "lost {:?}: {cause}; the command is killed",
        guard.name()
    ));
}

#[cfg(test)]
mod tests;

//! `--at-least`: a lock that is held longer than its command runs.
//!
//! The clocks of hosts differ. A job of 50 ms would end before the next host starts it, and run there once more.

use std::io::{self, IsTerminal as _};

use dlock::{BootInstant, Clock, Guard};
use tokio::select;

use crate::{
    base::{duration, output::say},
    run::signals::Signals,
};

/// Holds `guard`, whose command has ended, until `until`. A signal ends that, and so does a loss.
///
/// # Cancel safety
///
/// Safe.
pub(super) async fn hold(guard: &Guard, until: BootInstant, signals: &mut Signals) {
    let clock = Clock::boottime();
    let left = until.since(clock.now());
    if left.is_zero() {
        return;
    }
    let line = format!(
        "the command has ended; {:?} stays taken for {} more, or until a signal",
        guard.name(),
        duration::measured(left),
    );
    match io::stderr().is_terminal() {
        true => say(&line),
        false => tracing::info!("{line}"),
    }
    select! {
        biased;
        cause = guard.lost() => say(&format!(
            "lost {:?} after the command ended, before --at-least was over: {cause}",
            guard.name(),
        )),
        () = clock.sleep_until(until) => {}
        _ = signals.ending() => {}
    }
}

//! The line about a wait, for a person who waits for it.

use std::{convert::Infallible, future::pending, io, io::IsTerminal as _, time::Duration};

use dlock::{Clock, Holder, LockName, Locker};
use tokio::time::timeout;

use crate::{
    base::{duration, output::say},
    cli::args::Run,
    inspect::holder,
    run::contended::INSPECT_MAX,
};

/// A wait is reported after this time: a shorter one is over before the line is read.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// Reports a wait that lasts, once: the holder, since when it has the lock, and how long dlock waits for it. Never
/// ends.
///
/// The time that was `waited` for the store is a part of the wait that the user gave. Without a terminal there is
/// no reader, and with `--quiet` no wish for it.
///
/// # Cancel safety
///
/// Safe.
pub(super) async fn report(
    locker: &Locker,
    name: &LockName,
    args: &Run,
    waited: Duration,
) -> Infallible {
    let is_read = io::stderr().is_terminal() || tracing::enabled!(tracing::Level::INFO);
    if is_read && !args.quiet {
        let clock = Clock::boottime();
        let begun = clock.now();
        let max = match args.wait.forever {
            true => None,
            false => Some(match args.wait.time() {
                Some(wait) => wait.saturating_sub(waited),
                None => locker.default_wait(),
            }),
        };
        clock.sleep_until(begun.after(REPORT_AFTER)).await;
        // A store that does not answer is reported by the wait itself.
        let inspected = timeout(INSPECT_MAX, locker.inspect(name)).await;
        if let Ok(Ok(holder)) = inspected {
            let left = max.map(|max| max.saturating_sub(clock.now().since(begun)));
            say(&message(name, holder.as_ref(), left, &clock));
        }
    }
    pending().await
}

fn message(
    name: &LockName,
    holder: Option<&Holder>,
    left: Option<Duration>,
    clock: &Clock,
) -> String {
    let by = holder.map_or_else(|| "another waiter".to_owned(), holder::who);
    let since = holder.and_then(|holder| holder.since_unix_micros);
    let since = since.map_or_else(String::new, |since| {
        let held_for = Duration::from_micros(clock.unix_micros().saturating_sub(since));
        format!(", for {} now", duration::measured(held_for))
    });
    let left = left.map_or_else(
        || "without a time limit".to_owned(),
        |left| format!("for up to {} more", duration::measured(left)),
    );
    format!("{name:?} is taken by {by}{since}; waiting {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        let name = LockName::new("a").expect("name");
        let clock = Clock::boottime();
        let line = message(&name, None, None, &clock);
        assert_eq!(
            line,
            r#""a" is taken by another waiter; waiting without a time limit"#
        );
        let mut holder = Holder::foreign();
        let left = Some(Duration::from_secs(29));
        let line = message(&name, Some(&holder), left, &clock);
        assert_eq!(
            line,
            r#""a" is taken by another client; waiting for up to 29 s more"#
        );
        holder.since_unix_micros = Some(clock.unix_micros() - 12_500_000);
        let line = message(&name, Some(&holder), left, &clock);
        let begin = r#""a" is taken by another client, for 12 s now; waiting "#;
        assert!(line.starts_with(begin), "{line}");
    }
}

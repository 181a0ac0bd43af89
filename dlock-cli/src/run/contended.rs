//! The message for a lock that was not acquired.

use std::time::Duration;

use dlock::{Holder, LockName, Locker};
use tokio::time::timeout;

use crate::{
    base::{
        duration,
        exit::{Exit, Failure},
    },
    cli::args::{Run, WaitArgs},
    inspect::holder,
};

/// The end of a `dlock run` that has no lock: `--skip-ok` and `--quiet` leave out the message that it is taken.
pub(super) fn end(failure: Failure, name: &LockName, args: &Run) -> Result<Exit, Failure> {
    if failure.exit != Exit::CONTENDED || !args.is_silent_if_taken() {
        return Err(failure);
    }
    tracing::info!("{name:?} is taken; the command is not run");
    Ok(match args.skip_ok {
        true => Exit::OK,
        false => Exit::CONTENDED,
    })
}

/// How long the message may wait for the holder's name. A store may have to query the holder: MySQL allows
/// 2 s for that, and then cancels the query.
pub(super) const INSPECT_MAX: Duration = Duration::from_secs(3);

/// The failure to get `name`, with its holder as far as the store reports it in time.
pub(crate) async fn failure(locker: &Locker, name: &LockName, wait: &WaitArgs) -> Failure {
    let inspected = timeout(INSPECT_MAX, locker.inspect(name)).await;
    let holder = inspected.ok().and_then(Result::ok).flatten();
    let mut message = message(name, holder.as_ref(), wait);
    if let Some(warning) = holder.and_then(|holder| holder.warning) {
        message = format!("{message} ({warning})");
    }
    Failure::new(Exit::CONTENDED, message)
}

fn message(name: &LockName, holder: Option<&Holder>, wait: &WaitArgs) -> String {
    let by = holder.map_or_else(|| "another holder".to_owned(), holder::who);
    match wait.time() {
        Some(Duration::ZERO) => format!("{name:?} is taken by {by}; to wait for it, use --wait"),
        Some(time) => format!(
            "{name:?} is taken by {by} and was not free within {}; to wait longer, use --wait",
            duration::show(time)
        ),
        None => format!(
            "{name:?} is taken by {by} and was not free in time; to wait longer, use --wait"
        ),
    }
}

//! The way to a lock: open its file, lock it, make sure that it is still the file, count its token.

pub(crate) mod wait;

use std::sync::Arc;

use dlock_core::{
    Error, ErrorKind, Holder, Result,
    backend::{AcquireRequest, Lease, SentAt, Wait},
};

use crate::{
    acquire::wait::Waiting,
    errors,
    hold::Hold,
    keys::{self, FileName},
    lifecycle::Lifecycle,
    store::{
        lock_file::{LockFile, TryLock},
        record,
    },
};

/// How often an acquire starts over because its file or directory was replaced under it. Nobody does
/// that twice in a row but somebody who wants to.
const START_OVER_MAX: u32 = 100;

/// Takes the lock, or waits for it. After a cancellation it returns at once, and what it has opened is
/// closed (K7).
pub(crate) async fn acquire(lifecycle: &Arc<Lifecycle>, request: &AcquireRequest) -> Result<Lease> {
    let file_name = FileName::of(lifecycle.config().prefix(), &request.name);
    for _ in 0..START_OVER_MAX {
        if let Some(file) = LockFile::open(&*lifecycle.watched_directory()?, &file_name)?
            && let Some(lease) = acquire_file(lifecycle, request, &file_name, file).await?
        {
            return Ok(lease);
        }
        lifecycle.refresh_directory()?;
    }
    let path = lifecycle.config().directory().join(file_name.as_str());
    let message = format!(
        "{}: something keeps replacing it; find out what",
        path.display()
    );
    Err(Error::new(ErrorKind::Unavailable, message))
}

/// Takes the lock by this file; `None` when the file turns out to be removed or replaced.
///
/// One descriptor is kept for the whole wait: each close of it would wake all other waiters.
async fn acquire_file(
    lifecycle: &Arc<Lifecycle>,
    request: &AcquireRequest,
    file_name: &FileName,
    file: LockFile,
) -> Result<Option<Lease>> {
    let may_wait = request.wait == Wait::UntilCancelled;
    let mut waiting = Waiting::default();
    let mut told = false;
    loop {
        lifecycle.check_open()?;
        let sent = request.sent_now();
        match file.try_lock()? {
            TryLock::Locked => return grant(lifecycle, request, file_name, file, sent),
            TryLock::Contended if may_wait => request.attempt.report_contended(),
            TryLock::Contended => return Err(Error::contended()),
            TryLock::Inspected if waiting.is_backed_off() && !may_wait => {
                return Err(Error::contended());
            }
            TryLock::Inspected => {}
        }
        if may_wait && !told {
            told = true;
            if let Some(subscription) = lifecycle.subscribe(file_name) {
                waiting.subscribe(subscription);
                // A release between the try and the subscription was told to nobody.
                continue;
            }
        }
        if !file.is_in_place()? {
            return Ok(None);
        }
        tokio::select! {
            biased;
            () = request.attempt.cancelled() => return Err(Error::cancelled()),
            () = lifecycle.ended().cancelled() => return Err(errors::closed()),
            () = waiting.pause() => {}
        }
    }
}

/// Makes a lease of the locked `file`; `None`, and unlocked, when it is not at its path any more.
fn grant(
    lifecycle: &Arc<Lifecycle>,
    request: &AcquireRequest,
    file_name: &FileName,
    file: LockFile,
    sent: SentAt,
) -> Result<Option<Lease>> {
    let token = file
        .read()?
        .next_token(request.clock().unix_micros())
        .ok_or_else(|| {
            let message = format!("{}: its tokens are used up", file.path().display());
            Error::new(ErrorKind::Internal, message)
        })?;
    let name = keys::full_name(lifecycle.config().prefix(), &request.name);
    let holder = Holder::from_request(request, token);
    file.write(&record::render(token, &name, Some(&holder)))?;
    // A removal after this line is told to the attempt, one before it is found by the check.
    let held = Hold::enter(
        lifecycle.held(),
        &request.attempt,
        token,
        name,
        file_name,
        file,
    )?;
    if !held.is_in_place()? {
        return Ok(None);
    }
    Ok(Some(request.granted_to_process(sent, token, held)))
}

//! One try of an attempt: it locks a file, and grants the lock of a locked one.

use std::sync::Arc;

use dlock_core::{
    Error, ErrorKind, Holder, Result,
    backend::{AcquireRequest, Lease, SentAt},
};

use crate::{
    acquire::back_off::BackOff,
    hold::Hold,
    keys::{self, FileName},
    lifecycle::Lifecycle,
    store::{
        lock_file::{LockFile, TryLock},
        record,
    },
};

/// Locks `file` if it is free; `None` when the file turns out to be removed or replaced.
///
/// An inspection locks the file for an instant, so such a try is repeated for the length of a back-off.
pub(crate) async fn try_acquire(
    lifecycle: &Arc<Lifecycle>,
    request: &AcquireRequest,
    file_name: &FileName,
    file: LockFile,
) -> Result<Option<Lease>> {
    let mut back_off = BackOff::default();
    loop {
        lifecycle.check_open()?;
        let sent = request.sent_now();
        match file.try_lock()? {
            TryLock::Locked => return grant(lifecycle, request, file_name, file, sent),
            TryLock::Contended => return Err(Error::contended()),
            TryLock::Inspected => {}
        }
        let Some(pause) = back_off.next_pause() else {
            return Err(Error::contended());
        };
        if !file.is_in_place()? {
            return Ok(None);
        }
        let pause = tokio::time::sleep(pause);
        unless_ended(lifecycle, request, pause).await?;
    }
}

/// Runs `pause` to its end, unless the attempt is cancelled (K7) or the backend is closed (K12).
pub(crate) async fn unless_ended(
    lifecycle: &Lifecycle,
    request: &AcquireRequest,
    pause: impl Future<Output = ()>,
) -> Result<()> {
    tokio::select! {
        biased;
        () = request.attempt.cancelled() => Err(Error::cancelled()),
        () = lifecycle.ended().cancelled() => Err(Error::closed()),
        () = pause => Ok(()),
    }
}

/// The lease of the locked `file`; `None`, and unlocked, when it is not at its path any more.
pub(crate) fn grant(
    lifecycle: &Arc<Lifecycle>,
    request: &AcquireRequest,
    file_name: &FileName,
    file: LockFile,
    sent: SentAt,
) -> Result<Option<Lease>> {
    let token = file
        .read_token()?
        .next_token(request.clock().unix_micros())
        .ok_or_else(|| {
            let message = format!("{}: its tokens are used up", file.path().display());
            Error::new(ErrorKind::Internal, message)
        })?;
    let name = keys::full_name(lifecycle.config().name_prefix(), &request.name);
    let holder = Holder::encode(request, Some(token));
    file.write(&record::render(token, &name, Some(&holder)))?;
    // A later removal is reported to the attempt; the check finds an earlier one.
    let held = Hold::enter(
        lifecycle.held(),
        &request.attempt,
        token,
        name.into_owned(),
        file_name,
        file,
    )?;
    if !held.is_in_place()? {
        return Ok(None);
    }
    Ok(Some(request.granted_to_process(sent, token, held)))
}

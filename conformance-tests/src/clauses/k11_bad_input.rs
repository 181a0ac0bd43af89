//! K11: bad input is refused with a typed error before any I/O.

use std::{sync::Arc, time::Duration};

use dlock_core::{ErrorKind, Guard, LockName, Locker, Result, backend::AcquireRequest};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{CallCounter, Case, CaseContext, Profile, case};

/// The bounds on the ttl that every backend allows.
const TTL_OF_ALL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(86_400));

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(names_that_are_not_allowed),
        case!(times_to_live_out_of_bounds),
        case!(notes_that_are_not_allowed),
        case!(a_mode_that_the_store_does_not_have, Profile::exclusive_only),
        case!(a_default_ttl_out_of_bounds),
        case!(the_client_is_what_the_target_says),
        case!(each_ttl_from_a_second_to_a_day_is_allowed),
    ]
}

async fn names_that_are_not_allowed(context: &CaseContext) -> Outcome {
    let (locker, calls) = counted(context).await?;
    let long = "x".repeat(LockName::BYTES_MAX + 1);
    for bad in ["", &long, "a\0b", "a\nb", "\u{7f}", "\u{85}", "a\u{9f}"] {
        refused(&locker.acquire(bad).await, ErrorKind::InvalidInput)?;
        refused(&locker.try_acquire(bad).await, ErrorKind::InvalidInput)?;
        refused(
            &locker.acquire_all(["fine", bad]).await,
            ErrorKind::InvalidInput,
        )?;
        refused(&locker.inspect(bad).await, ErrorKind::InvalidInput)?;
        let scope = locker.scope(bad, async |_: &Guard| Ok::<_, dlock_core::Error>(()));
        refused(&scope.await, ErrorKind::InvalidInput)?;
    }
    unasked(&calls)
}

async fn times_to_live_out_of_bounds(context: &CaseContext) -> Outcome {
    let (locker, calls) = counted(context).await?;
    let name = context.name("ttl")?;
    for bad in bad_ttls(context) {
        refused(
            &locker.acquire(&name).ttl(bad).await,
            ErrorKind::InvalidInput,
        )?;
        refused(
            &locker.try_acquire(&name).ttl(bad).await,
            ErrorKind::InvalidInput,
        )?;
        refused(
            &locker.acquire_all([&name]).ttl(bad).await,
            ErrorKind::InvalidInput,
        )?;
    }
    unasked(&calls)
}

async fn notes_that_are_not_allowed(context: &CaseContext) -> Outcome {
    let (locker, calls) = counted(context).await?;
    let name = context.name("note")?;
    for bad in [
        "two\nlines",
        &"x".repeat(AcquireRequest::NOTE_BYTES_MAX + 1),
    ] {
        refused(
            &locker.acquire(&name).note(bad).await,
            ErrorKind::InvalidInput,
        )?;
        refused(
            &locker.try_acquire(&name).note(bad).await,
            ErrorKind::InvalidInput,
        )?;
    }
    unasked(&calls)
}

async fn a_mode_that_the_store_does_not_have(context: &CaseContext) -> Outcome {
    let (locker, calls) = counted(context).await?;
    let name = context.name("shared")?;
    refused(
        &locker.acquire(&name).shared().await,
        ErrorKind::Unsupported,
    )?;
    refused(
        &locker.try_acquire(&name).shared().await,
        ErrorKind::Unsupported,
    )?;
    unasked(&calls)
}

async fn a_default_ttl_out_of_bounds(context: &CaseContext) -> Outcome {
    for bad in bad_ttls(context) {
        let built = Locker::builder(context.backend().await?).ttl(bad).build();
        refused(&built, ErrorKind::InvalidConfig)?;
    }
    Ok(())
}

/// The target's capabilities selected the cases, so they must be the client's.
async fn the_client_is_what_the_target_says(context: &CaseContext) -> Outcome {
    let (said, is) = (
        context.capabilities,
        context.backend().await?.capabilities(),
    );
    ensure!(said == is, "the target says {said:?}, its client is {is:?}");
    ensure!(said.ttl_min <= said.ttl_max, "no ttl is allowed: {said:?}");
    ensure!(said.held_max != Some(0), "no lock can be held: {said:?}");
    Ok(())
}

/// A program may change the store by its URL alone.
async fn each_ttl_from_a_second_to_a_day_is_allowed(context: &CaseContext) -> Outcome {
    let capabilities = context.capabilities;
    let (min, max) = (capabilities.ttl_min, capabilities.ttl_max);
    ensure!(
        min <= TTL_OF_ALL.0 && TTL_OF_ALL.1 <= max,
        "a ttl is from {min:?} to {max:?} only"
    );
    let (name, locker) = (context.name("day")?, context.locker().await?);
    let day = context.ttl(TTL_OF_ALL.1);
    let guard = locker.acquire(&name).ttl(day).await?;
    Ok(guard.release().await?)
}

fn bad_ttls(context: &CaseContext) -> Vec<Duration> {
    let (min, max) = (context.capabilities.ttl_min, context.capabilities.ttl_max);
    let mut bad = vec![
        Duration::ZERO,
        min / 2,
        min.saturating_sub(Duration::from_nanos(1)),
    ];
    bad.extend([max.saturating_add(Duration::from_nanos(1)), Duration::MAX]);
    bad.retain(|ttl| !(min..=max).contains(ttl));
    bad
}

async fn counted(context: &CaseContext) -> Outcome<(Locker, Arc<CallCounter>)> {
    let calls = Arc::new(CallCounter::default());
    Ok((context.locker_over(&calls).await?, calls))
}

fn refused<T: std::fmt::Debug>(result: &Result<T>, kind: ErrorKind) -> Outcome {
    let error = match result {
        Ok(value) => return Err(format!("accepted, instead of {kind:?}: {value:?}").into()),
        Err(error) => error,
    };
    ensure!(
        error.kind() == kind,
        "{:?} instead of {kind:?}: {error}",
        error.kind()
    );
    ensure!(
        error.effect() == dlock_core::Effect::None,
        "an effect before any I/O: {error}"
    );
    ensure!(
        error.to_string().lines().count() == 1,
        "not one line: {error}"
    );
    Ok(())
}

fn unasked(calls: &CallCounter) -> Outcome {
    ensure!(
        calls.all() == 0,
        "the backend was called {} times",
        calls.all()
    );
    Ok(())
}

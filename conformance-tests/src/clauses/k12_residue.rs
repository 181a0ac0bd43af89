//! K12: when all guards have ended, nothing is left.
//!
//! Every case of the suite ends with a check for residue in the store and in the runtime; the cases here
//! leave the most.

use std::time::Duration;

use dlock_core::{ErrorKind, Guard, Locker, LostCause};
use dlock_verify::{ensure, support::Outcome};
use tokio::runtime::Handle;

use crate::{
    case::{Case, CaseContext, ClientGroup, Profile, UnguardedLease, case},
    worker::Task,
};

/// How many clients come and go.
const CLIENTS: usize = 50;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(nothing_after_a_shutdown_with_holders_and_waiters),
        case!(nothing_after_the_last_locker_and_guard),
        case!(nothing_after_many_clients),
        case!(nothing_in_a_process_after_many_clients, Profile::processes),
        case!(a_closed_client_refuses_everything),
    ]
}

async fn nothing_after_a_shutdown_with_holders_and_waiters(context: &CaseContext) -> Outcome {
    let (held, taken, locker) = (
        context.name("held")?,
        context.name("taken")?,
        context.locker().await?,
    );
    let guard = locker.acquire(&held).await?;
    let other = context.take(&taken, Duration::ZERO).await?;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..10 {
        waiting.spawn(locker.acquire(&taken).wait_forever().into_future());
    }
    tokio::task::yield_now().await;
    let lost = guard.lost();
    locker.shutdown(context.tolerance()).await?;
    ensure!(!guard.is_held(), "held after the shutdown");
    let cause = context.soon("the loss", lost).await?;
    ensure!(
        cause == LostCause::Closed,
        "after a shutdown it is lost because {cause}"
    );
    while let Some(waited) = waiting.join_next().await {
        let error = waited?.err().ok_or("a guard after the shutdown")?;
        ensure!(
            error.kind() == ErrorKind::Unavailable,
            "a waiter gets: {error}"
        );
    }
    let error = locker
        .acquire(&held)
        .await
        .err()
        .ok_or("a guard after the shutdown")?;
    ensure!(
        error.kind() == ErrorKind::Unavailable,
        "a later acquire gets: {error}"
    );
    context.expect_free(&held).await?;
    locker.shutdown(context.tolerance()).await?;
    Ok(other.release().await?)
}

/// Without a shutdown the locker cleans up in the background after its last user is dropped.
async fn nothing_after_the_last_locker_and_guard(context: &CaseContext) -> Outcome {
    let name = context.name("last")?;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let locker = Locker::builder(context.backend().await?)
        .ttl(context.ttl_long())
        .build()?;
    let guard: Guard = locker.acquire(&name).await?;
    drop(locker);
    ensure!(guard.is_held(), "the guard ended with its locker");
    drop(guard);
    let gone = async {
        while tasks() > before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    context.soon("the end of the locker's tasks", gone).await?;
    context.expect_free(&name).await
}

async fn nothing_after_many_clients(context: &CaseContext) -> Outcome {
    let name = context.name("many")?;
    for _ in 0..context.times(CLIENTS) {
        let locker = Locker::builder(context.backend().await?)
            .ttl(context.ttl_long())
            .build()?;
        locker.acquire(&name).await?.release().await?;
        locker.shutdown(context.tolerance()).await?;
    }
    Ok(())
}

/// A process of its own, because its descriptors are counted.
async fn nothing_in_a_process_after_many_clients(context: &CaseContext) -> Outcome {
    let task = Task::ClientChurn {
        name: context.name("client_churn")?.as_str().to_owned(),
    };
    ClientGroup::new(context).worker(task)?.finished().await
}

async fn a_closed_client_refuses_everything(context: &CaseContext) -> Outcome {
    let name = context.name("closed")?;
    let loose = UnguardedLease::take(context, &name, context.ttl_long()).await?;
    let backend = &loose.backend;
    backend.close().await?;
    backend.close().await?;
    let inspected = backend
        .inspect(&name)
        .await
        .err()
        .ok_or("a closed client inspects")?;
    ensure!(
        inspected.kind() == ErrorKind::Unavailable,
        "a closed client says: {inspected}"
    );
    let renewed = backend
        .renew(&loose.lease)
        .await
        .err()
        .ok_or("a closed client renews")?;
    ensure!(
        renewed.kind() == ErrorKind::Unavailable,
        "a closed client says: {renewed}"
    );
    let locker = loose.locker(context)?;
    let acquired = locker
        .try_acquire(&name)
        .await
        .err()
        .ok_or("a closed client acquires")?;
    ensure!(
        acquired.kind() == ErrorKind::Unavailable,
        "a closed client says: {acquired}"
    );
    // Its holds ended with it.
    context.expect_free_soon(&name).await
}

//! K1: validity intervals of one name, of which at least one is exclusive, never overlap.

use dlock_core::{LockName, Locker};
use dlock_verify::{
    ensure,
    history::{Event, EventKind},
    support::Outcome,
};
use tokio::task::JoinSet;

use crate::{
    case::{Case, CaseContext, ClientGroup, Profile, case},
    worker::{Contest, Task},
};

const TASKS: usize = 8;
const WORKERS: u32 = 6;
const ROUNDS: u32 = 20;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(tasks_of_one_client).of_size(1, 1),
        case!(many_clients).of_size(4, 4),
        case!(shared_and_exclusive_ones, Profile::shared).of_size(4, 4),
        case!(shared_ones_hold_together, Profile::shared),
        case!(processes, Profile::processes),
        case!(processes_that_are_killed, Profile::processes),
        case!(a_process_that_is_stopped, Profile::processes_expire),
    ]
}

async fn tasks_of_one_client(context: &CaseContext) -> Outcome {
    let locker = context.locker().await?;
    contest(context, vec![locker; context.times(TASKS)], None).await
}

async fn many_clients(context: &CaseContext) -> Outcome {
    contest(context, lockers(context).await?, None).await
}

async fn shared_and_exclusive_ones(context: &CaseContext) -> Outcome {
    contest(context, lockers(context).await?, Some(2)).await
}

async fn lockers(context: &CaseContext) -> Outcome<Vec<Locker>> {
    let mut lockers = Vec::new();
    for _ in 0..context.times(TASKS) {
        lockers.push(context.locker().await?);
    }
    Ok(lockers)
}

async fn contest(
    context: &CaseContext,
    lockers: Vec<Locker>,
    shared_every: Option<u32>,
) -> Outcome {
    let (group, name) = (ClientGroup::new(context), context.name("contest")?);
    let rounds = u32::try_from(context.times(ROUNDS as usize))?;
    let contest = Contest {
        rounds,
        shared_every,
        ttl: context.ttl_long(),
    };
    let mut tasks = JoinSet::new();
    let requested = lockers.len() * rounds as usize;
    for locker in lockers {
        let (name, recorder, register) = (name.clone(), group.recorder(), group.register.clone());
        tasks.spawn(async move { contest.run(&locker, &name, &recorder, &*register).await });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    group.check()?;
    let granted = group.count(granted);
    ensure!(
        granted == requested,
        "{granted} grants for {requested} acquires"
    );
    Ok(())
}

async fn shared_ones_hold_together(context: &CaseContext) -> Outcome {
    let name = context.name("shared")?;
    let [first, second] = [context.locker().await?, context.locker().await?];
    let one = first
        .try_acquire(&name)
        .shared()
        .await?
        .ok_or("the first is refused")?;
    let two = second
        .try_acquire(&name)
        .shared()
        .await?
        .ok_or("the second is refused")?;
    ensure!(
        one.is_held() && two.is_held(),
        "two shared guards are not held together"
    );
    context.expect_taken(&name).await?;
    one.release().await?;
    context.expect_taken(&name).await?;
    two.release().await?;
    let alone = context.take(&name, std::time::Duration::ZERO).await?;
    let refused = first.try_acquire(&name).shared().await?;
    ensure!(refused.is_none(), "shared beside exclusive: {refused:?}");
    Ok(alone.release().await?)
}

async fn processes(context: &CaseContext) -> Outcome {
    let (group, name) = (ClientGroup::new(context), context.name("contest")?);
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(group.worker(contender(&name, ROUNDS, context))?);
    }
    for worker in workers {
        worker.finished().await?;
    }
    group.check()?;
    let (granted, requested) = (group.count(granted), WORKERS as usize * ROUNDS as usize);
    ensure!(
        granted == requested,
        "{granted} grants for {requested} acquires"
    );
    Ok(())
}

/// Killed workers may have held the lock: the others still get it, and it is never held twice.
async fn processes_that_are_killed(context: &CaseContext) -> Outcome {
    const ENDLESS: u32 = 1_000_000;
    let (group, name) = (ClientGroup::new(context), context.name("contest")?);
    let mut victims = Vec::new();
    for _ in 0..3 {
        victims.push(group.worker(contender(&name, ENDLESS, context))?);
    }
    for (victim, grants) in victims.into_iter().zip([1, 5, 10]) {
        context
            .within(
                context.takeover(context.ttl_short()),
                "grants of a victim",
                victim.granted(grants),
            )
            .await??;
        victim.kill().await?;
    }
    let survivor = group.worker(contender(&name, ROUNDS, context))?;
    survivor.finished().await?;
    group.check()
}

/// A holder that is stopped for longer than its lease has lost it when it resumes.
async fn a_process_that_is_stopped(context: &CaseContext) -> Outcome {
    let (group, name, ttl) = (
        ClientGroup::new(context),
        context.name("stopped")?,
        context.ttl_short(),
    );
    let hold = || Task::Hold {
        name: name.as_str().to_owned(),
        ttl,
    };
    let stopped = group.worker(hold())?;
    context
        .soon("the first grant", stopped.granted(1))
        .await??;
    stopped.stop()?;
    let successor = group.worker(hold())?;
    context
        .within(
            context.takeover(ttl),
            "the successor's grant",
            successor.granted(1),
        )
        .await??;
    stopped.resume()?;
    let client = stopped.client();
    let lost =
        |event: &Event| event.client == client && matches!(event.kind, EventKind::Lost { .. });
    context
        .soon("the loss of the stopped one", group.history.until(1, lost))
        .await?;
    successor.release().await?;
    stopped.finished().await?;
    successor.finished().await?;
    group.check()
}

fn contender(name: &LockName, rounds: u32, context: &CaseContext) -> Task {
    Task::Contend {
        name: name.as_str().to_owned(),
        rounds,
        shared_every: None,
        ttl: context.ttl_short(),
    }
}

fn granted(event: &Event) -> bool {
    matches!(event.kind, EventKind::Granted { .. })
}

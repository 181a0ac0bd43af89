//! K1: validity intervals of one name, of which at least one is exclusive, never overlap.

use dlock_core::{LockName, Locker};
use dlock_verify::{
    ensure,
    history::{Event, What},
    support::Outcome,
};
use tokio::task::JoinSet;

use crate::{
    case::{Case, Crew, Profile, Rig, case},
    worker::{Contest, Task},
};

const TASKS: usize = 8;
const WORKERS: u32 = 6;
const ROUNDS: u32 = 20;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(tasks_of_one_client),
        case!(many_clients),
        case!(shared_and_exclusive_ones, Profile::shared),
        case!(shared_ones_hold_together, Profile::shared),
        case!(processes, Profile::processes),
        case!(processes_that_are_killed, Profile::processes),
        case!(a_process_that_is_stopped, Profile::processes_expire),
    ]
}

async fn tasks_of_one_client(rig: &Rig) -> Outcome {
    let locker = rig.locker().await?;
    contest(rig, vec![locker; TASKS], None).await
}

async fn many_clients(rig: &Rig) -> Outcome {
    contest(rig, lockers(rig).await?, None).await
}

async fn shared_and_exclusive_ones(rig: &Rig) -> Outcome {
    contest(rig, lockers(rig).await?, Some(2)).await
}

async fn lockers(rig: &Rig) -> Outcome<Vec<Locker>> {
    let mut lockers = Vec::new();
    for _ in 0..TASKS {
        lockers.push(rig.locker().await?);
    }
    Ok(lockers)
}

async fn contest(rig: &Rig, lockers: Vec<Locker>, shared_every: Option<u32>) -> Outcome {
    let (crew, name) = (Crew::new(rig), rig.name("contest")?);
    let contest = Contest {
        rounds: ROUNDS,
        shared_every,
        ttl: rig.ttl_long(),
    };
    let mut tasks = JoinSet::new();
    let asked = lockers.len() * ROUNDS as usize;
    for locker in lockers {
        let (name, recorder, register) = (name.clone(), crew.recorder(), crew.register.clone());
        tasks.spawn(async move { contest.run(&locker, &name, &recorder, &*register).await });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    crew.check()?;
    let granted = crew.count(granted);
    ensure!(granted == asked, "{granted} grants for {asked} acquires");
    Ok(())
}

async fn shared_ones_hold_together(rig: &Rig) -> Outcome {
    let name = rig.name("shared")?;
    let [first, second] = [rig.locker().await?, rig.locker().await?];
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
    rig.expect_taken(&name).await?;
    one.release().await?;
    rig.expect_taken(&name).await?;
    two.release().await?;
    let alone = rig.take(&name, std::time::Duration::ZERO).await?;
    let refused = first.try_acquire(&name).shared().await?;
    ensure!(refused.is_none(), "shared beside exclusive: {refused:?}");
    Ok(alone.release().await?)
}

async fn processes(rig: &Rig) -> Outcome {
    let (crew, name) = (Crew::new(rig), rig.name("contest")?);
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(crew.worker(contender(&name, ROUNDS, rig))?);
    }
    for worker in workers {
        worker.finished().await?;
    }
    crew.check()?;
    let (granted, asked) = (crew.count(granted), WORKERS as usize * ROUNDS as usize);
    ensure!(granted == asked, "{granted} grants for {asked} acquires");
    Ok(())
}

/// The dead may have held the lock: the living get it all the same, and nobody gets it twice.
async fn processes_that_are_killed(rig: &Rig) -> Outcome {
    const ENDLESS: u32 = 1_000_000;
    let (crew, name) = (Crew::new(rig), rig.name("contest")?);
    let mut victims = Vec::new();
    for _ in 0..3 {
        victims.push(crew.worker(contender(&name, ENDLESS, rig))?);
    }
    for (victim, grants) in victims.into_iter().zip([1, 5, 10]) {
        rig.within(
            rig.takeover(rig.ttl_short()),
            "grants of a victim",
            victim.granted(grants),
        )
        .await?;
        victim.kill().await?;
    }
    let survivor = crew.worker(contender(&name, ROUNDS, rig))?;
    survivor.finished().await?;
    crew.check()
}

/// A holder that is stopped for longer than its lease has lost it when it goes on, whatever it was
/// about to do.
async fn a_process_that_is_stopped(rig: &Rig) -> Outcome {
    let (crew, name, ttl) = (Crew::new(rig), rig.name("stopped")?, rig.ttl_short());
    let hold = || Task::Hold {
        name: name.as_str().to_owned(),
        ttl,
    };
    let stopped = crew.worker(hold())?;
    rig.soon("the first grant", stopped.granted(1)).await?;
    stopped.stop()?;
    let successor = crew.worker(hold())?;
    rig.within(
        rig.takeover(ttl),
        "the successor's grant",
        successor.granted(1),
    )
    .await?;
    stopped.go_on()?;
    let client = stopped.client();
    let lost = |event: &Event| event.client == client && matches!(event.what, What::Lost { .. });
    rig.soon("the loss of the stopped one", crew.history.until(1, lost))
        .await?;
    successor.release().await?;
    stopped.finished().await?;
    successor.finished().await?;
    crew.check()
}

fn contender(name: &LockName, rounds: u32, rig: &Rig) -> Task {
    Task::Contend {
        name: name.as_str().to_owned(),
        rounds,
        shared_every: None,
        ttl: rig.ttl_short(),
    }
}

fn granted(event: &Event) -> bool {
    matches!(event.what, What::Granted { .. })
}

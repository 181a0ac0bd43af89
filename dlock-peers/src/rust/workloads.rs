//! The workloads, as the README has them.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{BootInstant, Clock};
use rand::RngExt as _;
use tokio::{task::JoinSet, time::sleep};

use super::{
    client::{Client, Lock},
    connect::connect,
};
use crate::{
    failure::Failure,
    process::{Contended, Cycles, HandOvers},
};

/// How long a lock is held before it is handed over. A waiter that polls is at any point of its pause, and etcd, which
/// attaches new watches every 100 ms, has attached its own.
const HELD_MS: Range<u64> = 100..200;

/// Acquires and releases by a task for each of the `clients`, which may be the same. Each has a name of its own.
pub(super) async fn cycles(
    clients: impl Iterator<Item = &dyn Client>,
    window: Duration,
) -> Result<Cycles, Failure> {
    let mut locks = Vec::new();
    for (task, client) in clients.enumerate() {
        locks.push(client.lock(&format!("peers-{task}")).await?);
    }
    repeat_all(locks, window, |_| None).await
}

/// The same, with a new name in each cycle.
pub(super) async fn once(
    client: &dyn Client,
    tasks: usize,
    window: Duration,
) -> Result<Cycles, Failure> {
    let mut locks = Vec::new();
    for _ in 0..tasks {
        locks.push(client.lock("peers").await?);
    }
    let run: u32 = rand::rng().random();
    repeat_all(locks, window, move |task| {
        Some(Names {
            start: format!("peers-{run:08x}-{task}"),
            count: 0,
        })
    })
    .await
}

/// Names that are used once.
struct Names {
    /// No other task's, in no run.
    start: String,
    count: u64,
}

impl Names {
    fn next(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.start, self.count)
    }
}

/// Cycles of all tasks; `names` are those of a task if it has new ones.
async fn repeat_all(
    locks: Vec<Box<dyn Lock>>,
    window: Duration,
    names: impl Fn(usize) -> Option<Names>,
) -> Result<Cycles, Failure> {
    let clock = Clock::boottime();
    let begin = clock.now();
    let mut running: JoinSet<_> = (0..)
        .zip(locks)
        .map(|(task, lock)| repeat(lock, names(task), clock.clone(), begin.after(window)))
        .collect();
    let mut cycles = 0;
    while let Some(done) = running.join_next().await {
        cycles += done??;
    }
    Ok(Cycles {
        cycles,
        seconds: clock.now().since(begin).as_secs_f64(),
    })
}

async fn repeat(
    mut lock: Box<dyn Lock>,
    mut names: Option<Names>,
    clock: Clock,
    end: BootInstant,
) -> Result<u64, Failure> {
    let mut cycles = 0;
    while clock.now() < end {
        if let Some(names) = &mut names {
            lock.rename(names.next());
        }
        lock.acquire().await?;
        lock.release().await?;
        cycles += 1;
    }
    Ok(cycles)
}

/// From the release of one client to the grant of another one, which waits.
pub(super) async fn hand_over(
    name: &str,
    url: &str,
    window: Duration,
) -> Result<HandOvers, Failure> {
    let clients = [connect(name, url).await?, connect(name, url).await?];
    let mut holder = clients[0].lock("peers-hand-over").await?;
    let mut waiter = clients[1].lock("peers-hand-over").await?;
    let clock = Clock::boottime();
    let end = clock.now().after(window);
    let mut hand_overs_ms = Vec::new();
    holder.acquire().await?;
    while clock.now() < end {
        let waiting = tokio::spawn(granted(waiter, clock.clone()));
        sleep(Duration::from_millis(rand::rng().random_range(HELD_MS))).await;
        let released = clock.now();
        holder.release().await?;
        let (next, at) = waiting.await??;
        hand_overs_ms.push(at.since(released).as_secs_f64() * 1e3);
        (holder, waiter) = (next, holder);
    }
    holder.release().await?;
    Ok(HandOvers { hand_overs_ms })
}

async fn granted(
    mut lock: Box<dyn Lock>,
    clock: Clock,
) -> Result<(Box<dyn Lock>, BootInstant), Failure> {
    lock.acquire().await?;
    Ok((lock, clock.now()))
}

/// Several clients on one name.
pub(super) async fn contend(
    name: &str,
    url: &str,
    clients: usize,
    hold: Duration,
    window: Duration,
) -> Result<Contended, Failure> {
    let (mut connected, mut locks) = (Vec::new(), Vec::new());
    for _ in 0..clients {
        let client = connect(name, url).await?;
        locks.push(client.lock("peers-contended").await?);
        connected.push(client);
    }
    let clock = Clock::boottime();
    let end = clock.now().after(window);
    let turns = Turns::default();
    let mut running: JoinSet<_> = (0..)
        .zip(locks)
        .map(|(number, lock)| share(number, lock, hold, turns.clone(), clock.clone(), end))
        .collect();
    let (mut grants, mut longest) = (Vec::new(), Duration::ZERO);
    while let Some(done) = running.join_next().await {
        let (count, wait) = done??;
        grants.push(count);
        longest = longest.max(wait);
    }
    Ok(Contended {
        grants,
        moved: turns.moved.load(Ordering::Relaxed),
        longest_wait_ms: longest.as_secs_f64() * 1e3,
        seconds: window.as_secs_f64(),
        granted: turns.all.load(Ordering::Relaxed),
    })
}

/// The last holder, the grants to another one than it, and all grants.
#[derive(Clone, Default)]
struct Turns {
    last: Arc<AtomicUsize>,
    moved: Arc<AtomicU64>,
    all: Arc<AtomicU64>,
}

/// The grants of one client, and its longest wait.
async fn share(
    number: usize,
    mut lock: Box<dyn Lock>,
    hold: Duration,
    turns: Turns,
    clock: Clock,
    end: BootInstant,
) -> Result<(u64, Duration), Failure> {
    let (mut grants, mut longest) = (0, Duration::ZERO);
    loop {
        let begin = clock.now();
        if begin >= end {
            return Ok((grants, longest));
        }
        lock.acquire().await?;
        turns.all.fetch_add(1, Ordering::Relaxed);
        let now = clock.now();
        longest = longest.max(now.min(end).since(begin));
        if now < end {
            grants += 1;
            if turns.last.swap(number, Ordering::Relaxed) != number {
                turns.moved.fetch_add(1, Ordering::Relaxed);
            }
        }
        if !hold.is_zero() {
            sleep(hold).await;
        }
        lock.release().await?;
    }
}

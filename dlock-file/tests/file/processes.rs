//! Between processes: death, waiting, tokens, and what children inherit.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{Clock, Guard};

use crate::{
    jobs::{COUNTER, COUNTS},
    support::{directory, locker, past_back_off, soon},
    worker::Worker,
};

#[tokio::test]
async fn k01_counting_in_ten_processes_loses_nothing() {
    const PROCESSES: u64 = 10;
    let directory = directory();
    fs::write(directory.path().join(COUNTER), "0").expect("written");
    let workers: Vec<Worker> = (0..PROCESSES)
        .map(|_| Worker::start("count", directory.path()))
        .collect();
    let mut tokens = Vec::new();
    for mut worker in workers {
        let mut own = Vec::new();
        while let Some(token) = worker.try_hear() {
            own.push(token.parse::<u64>().expect("token"));
        }
        assert!(own.is_sorted());
        tokens.append(&mut own);
    }
    let counted = fs::read_to_string(directory.path().join(COUNTER)).expect("read");
    assert_eq!(counted.parse(), Ok(PROCESSES * COUNTS));
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(
        tokens.len() as u64,
        PROCESSES * COUNTS,
        "every grant has its own token"
    );
}

#[tokio::test]
async fn k06_a_killed_holder_frees_its_lock_at_once() {
    let directory = directory();
    let locks = locker(directory.path());
    let clock = Clock::boottime();
    let mut last = 0;
    for _ in 0..20 {
        let mut holder = Worker::start("hold", directory.path());
        let token: u64 = holder.hear().parse().expect("token");
        assert!(token > last);
        let waiter = tokio::spawn(locks.acquire("a").wait_forever().into_future());
        past_back_off().await;
        assert!(!waiter.is_finished());
        let killed = clock.now();
        holder.kill();
        let guard: Guard = soon(waiter).await.expect("waiter").expect("granted");
        let took = clock.now().since(killed);
        assert!(
            took < Duration::from_millis(500),
            "{took:?}: the belt woke it, not the event"
        );
        assert!(guard.token().get() > token);
        last = guard.token().get();
        guard.release().await.expect("released");
    }
}

#[tokio::test]
async fn k05_tokens_grow_over_writers_killed_anywhere() {
    let directory = directory();
    let locks = locker(directory.path());
    let mut last = 0;
    for round in 0_u64..40 {
        let mut writers = [
            Worker::start("churn", directory.path()),
            Worker::start("churn", directory.path()),
        ];
        let mut heard = writers[0].hear().parse::<u64>().expect("token");
        assert!(heard > last, "{heard} after {last}");
        // Somewhere in the middle of a write, a lock or a release.
        tokio::time::sleep(Duration::from_micros(300 * (round % 10))).await;
        for writer in &mut writers {
            writer.kill();
            while let Some(token) = writer.try_hear() {
                // The last word may be cut.
                heard = token
                    .parse()
                    .ok()
                    .filter(|token| *token > heard)
                    .unwrap_or(heard);
            }
        }
        let guard = soon(locks.acquire("a").into_future())
            .await
            .expect("no holder is left");
        assert!(
            guard.token().get() > heard,
            "{} after {heard}",
            guard.token()
        );
        last = guard.token().get();
        guard.release().await.expect("released");
    }
}

#[tokio::test]
async fn a_command_that_outlives_its_holder_does_not_keep_the_lock() {
    let directory = directory();
    let locks = locker(directory.path());
    let mut holder = Worker::start("start a command", directory.path());
    let command: u32 = holder.hear().parse().expect("pid");
    assert!(locks.try_acquire("a").await.expect("a reply").is_none());
    holder.kill();
    let guard = soon(locks.acquire("a").into_future())
        .await
        .expect("granted");
    assert!(
        Path::new("/proc").join(command.to_string()).exists(),
        "it lives on"
    );
    guard.release().await.expect("released");
    let raw = i32::try_from(command)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .expect("pid");
    rustix::process::kill_process(raw, rustix::process::Signal::KILL).expect("ended");
}

#[tokio::test]
async fn a_release_frees_the_lock_while_a_child_is_on_its_way_to_exec() {
    // Until its exec a child has all our descriptors, so a close alone would free nothing.
    let directory = directory();
    let locks = locker(directory.path());
    let (done, is_done) = (Arc::new(AtomicBool::new(false)), Ordering::Relaxed);
    let spawner = std::thread::spawn({
        let done = done.clone();
        move || {
            while !done.load(is_done) {
                Command::new("true").status().expect("true");
            }
        }
    });
    let mut taken = 0;
    for _ in 0..20_000 {
        match locks.try_acquire("a").await.expect("a reply") {
            Some(guard) => guard.release().await.expect("released"),
            None => taken += 1,
        }
    }
    done.store(true, is_done);
    spawner.join().expect("spawner");
    assert_eq!(taken, 0, "times taken without a holder");
}

#[tokio::test]
async fn k06_twenty_waiting_processes_idle_and_all_get_their_turn() {
    const PROCESSES: usize = 20;
    /// Long enough for a busy loop to be far above the bound, and over two polls of each waiter.
    const WATCHED: Duration = Duration::from_secs(2);
    /// Ticks of 10 ms: 1 % of what one core can do for each waiter.
    const TICKS_MAX: u64 = 2 * PROCESSES as u64;
    let directory = directory();
    let mut holder = Worker::start("hold", directory.path());
    holder.hear();
    let mut waiters: Vec<Worker> = (0..PROCESSES)
        .map(|_| Worker::start("wait", directory.path()))
        .collect();
    for waiter in &mut waiters {
        assert_eq!(waiter.hear(), "waiting");
    }
    past_back_off().await;
    let ticks = || {
        waiters
            .iter()
            .map(|waiter| cpu_ticks(waiter.pid()))
            .sum::<u64>()
    };
    let before = ticks();
    tokio::time::sleep(WATCHED).await;
    let used = ticks() - before;
    assert!(
        used <= TICKS_MAX,
        "{used} ticks of processor time for doing nothing"
    );

    let clock = Clock::boottime();
    let released = clock.now();
    holder.release();
    let mut tokens: Vec<u64> = waiters
        .iter_mut()
        .map(|waiter| waiter.hear().parse().expect("token"))
        .collect();
    let took = clock.now().since(released);
    assert!(
        took < Duration::from_secs(5),
        "{took:?} for {PROCESSES} hand-overs"
    );
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), PROCESSES);
}

/// Processor time of a process, in ticks: fields 14 and 15 of its `stat`, after the name in brackets.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("alive");
    let (_, fields) = stat.rsplit_once(')').expect("stat");
    let ticks = |at: usize| {
        fields
            .split_whitespace()
            .nth(at)
            .and_then(|word| word.parse().ok())
    };
    let (user, system): (Option<u64>, Option<u64>) = (ticks(11), ticks(12));
    user.expect("utime") + system.expect("stime")
}

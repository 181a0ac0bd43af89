//! The supervisor on a paused clock, with a store that fails and a command that is not real.

use std::{
    cell::{Cell, RefCell},
    os::unix::process::ExitStatusExt as _,
    time::Duration,
};

use dlock::{BootInstant, Clock, Fault, Locker, Memory, Operation};
use tokio::sync::Notify;

use super::*;

const TTL: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_secs(60);

/// A command that ends by itself after a while, by KILL, and by TERM if it obeys.
struct Fake {
    clock: Clock,
    started: BootInstant,
    obeys: bool,
    runs: Duration,
    heard: RefCell<Vec<(Duration, Signal)>>,
    ended_by: Cell<Option<Signal>>,
    changed: Notify,
}

impl Process for Fake {
    fn send(&self, signal: Signal) {
        let after = self.clock.now().since(self.started);
        self.heard.borrow_mut().push((after, signal));
        let ends = signal == Signal::KILL || (signal == Signal::TERM && self.obeys);
        if ends && self.ended_by.get().is_none() {
            self.ended_by.set(Some(signal));
            self.changed.notify_one();
        }
    }

    fn has_begun(&self) -> bool {
        true
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        select! {
            () = self.changed.notified() => {}
            () = self.clock.sleep_until(self.started.after(self.runs)) => {}
        }
        Ok(ExitStatus::from_raw(
            self.ended_by.get().map_or(0, Signal::as_raw),
        ))
    }
}

/// A store, a guard of it, and a command under that guard.
struct Scene {
    clock: Clock,
    store: Memory,
    guard: Guard,
    command: Fake,
    _locker: Locker,
}

impl Scene {
    async fn new(runs: Duration, obeys: bool) -> Self {
        let clock = Clock::pausable();
        let store = Memory::with_clock(clock.clone());
        let builder = Locker::builder(store.clone()).clock(clock.clone()).ttl(TTL);
        let locker = builder.build().expect("locker");
        let guard = locker.acquire("a").await.expect("guard");
        let command = Fake {
            clock: clock.clone(),
            started: clock.now(),
            obeys,
            runs,
            heard: RefCell::default(),
            ended_by: Cell::default(),
            changed: Notify::new(),
        };
        Self {
            clock,
            store,
            guard,
            command,
            _locker: locker,
        }
    }

    async fn supervise(&mut self) -> Ended {
        let deadlines = Deadlines::new(TTL, None).expect("deadlines");
        let mut signals = Signals::none();
        supervise(&self.guard, &mut self.command, &mut signals, deadlines)
            .await
            .expect("ended")
    }

    fn heard(&self) -> Vec<(Duration, Signal)> {
        self.command.heard.borrow().clone()
    }
}

/// 30 s are held for 29.698 s; timers tick in whole milliseconds.
fn assert_at(after: Duration, millis: u64) {
    let expected = Duration::from_millis(millis);
    assert!(
        (expected..expected + Duration::from_millis(2)).contains(&after),
        "{after:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lock_leaves_the_command_alone() {
    let mut scene = Scene::new(10 * MINUTE, true).await;
    let ended = scene.supervise().await;
    assert!(!ended.lost && ended.status.success());
    assert_eq!(scene.heard(), []);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_obeys_gets_term_a_sixth_of_the_ttl_before_the_deadline() {
    let mut scene = Scene::new(10 * MINUTE, true).await;
    scene.store.inject(Operation::Renew, Fault::Stall);
    let ended = scene.supervise().await;
    assert!(ended.lost && scene.guard.is_held());
    let heard = scene.heard();
    let signals: Vec<_> = heard.iter().map(|(_, signal)| *signal).collect();
    // The last one is for what the command left in the background.
    assert_eq!(signals, [Signal::TERM, Signal::CONT, Signal::KILL]);
    assert_at(heard[0].0, 24_698);
    assert_at(heard[2].0, 24_698);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_does_not_is_killed_before_the_deadline() {
    let mut scene = Scene::new(10 * MINUTE, false).await;
    scene.store.inject(Operation::Renew, Fault::LoseRequest);
    let ended = scene.supervise().await;
    assert!(ended.lost && scene.guard.is_held());
    assert_eq!(ended.status.signal(), Some(Signal::KILL.as_raw()));
    let heard = scene.heard();
    assert_eq!((heard[0].1, heard[2].1), (Signal::TERM, Signal::KILL));
    assert_at(heard[0].0, 24_698);
    assert_at(heard[2].0, 29_598);
}

#[tokio::test(start_paused = true)]
async fn a_loss_that_the_store_reports_gives_no_time() {
    let mut scene = Scene::new(10 * MINUTE, false).await;
    let store = scene.store.clone();
    let clock = scene.clock.clone();
    let at = clock.now().after(MINUTE);
    tokio::spawn(async move {
        clock.sleep_until(at).await;
        store.revoke("a");
    });
    let ended = scene.supervise().await;
    assert!(ended.lost && !scene.guard.is_held());
    let heard = scene.heard();
    let signals: Vec<_> = heard.iter().map(|(_, signal)| *signal).collect();
    assert_eq!(signals[..3], [Signal::TERM, Signal::CONT, Signal::KILL]);
    assert_at(heard[0].0, 60_000);
    assert_at(heard[2].0, 60_000);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_suspended_kills_the_command_when_it_wakes() {
    let mut scene = Scene::new(10 * MINUTE, false).await;
    scene.clock.jump(MINUTE);
    let ended = scene.supervise().await;
    assert!(ended.lost && !scene.guard.is_held());
    let (after, signal) = scene.heard()[2];
    assert_eq!(signal, Signal::KILL);
    assert!(after <= MINUTE + Duration::from_secs(2), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_after_term_spares_the_command_but_not_its_exit_code() {
    let mut scene = Scene::new(Duration::from_secs(100), false).await;
    scene.store.inject(Operation::Renew, Fault::LoseRequest);
    let store = scene.store.clone();
    let clock = scene.clock.clone();
    let at = clock.now().after(Duration::from_millis(24_800));
    tokio::spawn(async move {
        clock.sleep_until(at).await;
        store.clear_faults();
    });
    let ended = scene.supervise().await;
    assert!(ended.lost && ended.status.success() && scene.guard.is_held());
    let heard = scene.heard();
    assert_at(heard[0].0, 24_698);
    // Nothing between TERM and the end of the command.
    assert_at(heard[2].0, 100_000);
}

#[tokio::test(start_paused = true)]
async fn a_loss_counts_although_the_command_has_just_ended_well() {
    let mut scene = Scene::new(Duration::ZERO, true).await;
    scene.store.revoke("a");
    let ended = scene.supervise().await;
    assert!(ended.lost && ended.status.success());
}

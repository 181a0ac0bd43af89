//! Tests that need private parts of more than one layer.

use std::{sync::Arc, time::Duration};

use crate::{
    backend::attempt::Attempt,
    base::{cause::LostCause, clock::Clock},
    client::{guard::Guard, locker::Locker},
    engine::scheduler::Scheduler,
    memory::Memory,
};

/// A loss happens in two steps: the state changes, then the hold is notified. If the user drops
/// everything between them, the scheduler may have the last reference to the hold.
#[tokio::test(start_paused = true)]
async fn the_last_hold_may_go_during_a_tick() {
    let clock = Clock::pausable();
    let store = Memory::with_clock(clock.clone());
    let locks = Locker::builder(store)
        .clock(clock.clone())
        .build()
        .expect("locker");
    let guard = locks.acquire("x").no_renewal().await.expect("free");
    let (attempt, scheduler) = parts(&guard);
    attempt.state().lose(LostCause::Removed);
    drop((guard, locks));
    clock.jump(Duration::from_secs(60));
    let (done, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(scheduler.tick().is_some()));
    let in_time = finished.recv_timeout(Duration::from_secs(10));
    assert!(in_time.is_ok(), "the scheduler waits for its own lock");
}

fn parts(guard: &Guard) -> (Attempt, Arc<Scheduler>) {
    let hold = guard.hold();
    (hold.lease.attempt.clone(), hold.shared.scheduler.clone())
}

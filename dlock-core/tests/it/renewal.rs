//! K2, K3, K8 on a paused clock: renewals, deadlines, suspended machines.

use std::sync::{Arc, Mutex};

use dlock_core::{
    Capabilities, Clock, ErrorKind, Guard, Holder, LockName, Locker, LostCause, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, async_trait},
    memory::{Fault, Memory, Operation},
};

use crate::common::{NAME, OnRenew, millis, paused, secs, settle, until_unused};

#[tokio::test(start_paused = true)]
async fn a_held_lock_is_renewed_for_as_long_as_it_is_held() {
    let (_, _store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    let token = guard.token();
    for _ in 0..600 {
        tokio::time::sleep(millis(500)).await;
        assert!(guard.remaining() > secs(5), "{:?}", guard.remaining());
    }
    assert_eq!(guard.token(), token);
    guard.release().await.expect("held");
}

#[tokio::test(start_paused = true)]
async fn the_shortest_ttl_is_renewed_in_time() {
    let (_, _store, locks) = paused();
    let ttl = locks.capabilities().ttl_min;
    let guard = locks.acquire(NAME).ttl(ttl).await.expect("free");
    tokio::time::sleep(secs(1)).await;
    assert!(guard.is_held());
    guard.release().await.expect("held");
}

#[tokio::test(start_paused = true)]
async fn a_hung_renewal_is_lost_within_a_millisecond_of_the_deadline() {
    let (clock, store, locks) = paused();
    let start = clock.now();
    let guard = locks.acquire(NAME).await.expect("free");
    store.inject(Operation::Renew, Fault::Stall);
    assert_eq!(guard.lost().await, LostCause::Expired);
    let held = clock.now().since(start);
    assert!((millis(9_898)..=millis(9_899)).contains(&held), "{held:?}");
    assert!(!guard.is_held());
    let error = guard.release().await.expect_err("lost");
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[tokio::test(start_paused = true)]
async fn failed_renewals_are_tried_again_before_the_deadline() {
    for fault in [
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::Stall,
        Fault::Deny,
    ] {
        let (_, store, locks) = paused();
        let guard = locks.acquire(NAME).await.expect("free");
        // Half of the time to live is enough for two more tries.
        store.inject(Operation::Renew, fault);
        tokio::time::sleep(secs(5)).await;
        store.clear_faults();
        tokio::time::sleep(secs(20)).await;
        assert!(guard.is_held(), "{fault:?}");
        guard.release().await.expect("held");
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_without_an_answer_keeps_the_old_deadline() {
    for fault in [Fault::LoseRequest, Fault::LoseReply, Fault::Deny] {
        let (_, store, locks) = paused();
        let guard = locks.acquire(NAME).no_renewal().await.expect("free");
        tokio::time::sleep(secs(3)).await;
        let left = guard.remaining();
        store.inject(Operation::Renew, fault);
        let error = guard.renew().await.expect_err("no answer");
        assert_eq!(error.lost_cause(), None, "{fault:?}");
        assert_eq!(guard.remaining(), left, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_machine_loses_its_locks_at_once() {
    let (clock, _store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    let lost = tokio::spawn(guard.lost());
    settle().await;
    clock.jump(secs(11));
    assert!(!guard.is_held());
    assert_eq!(lost.await.expect("no panic"), LostCause::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_jump_is_reported_within_a_second_without_a_call() {
    let (clock, _store, locks) = paused();
    let guard = locks
        .acquire(NAME)
        .ttl(secs(60))
        .no_renewal()
        .await
        .expect("free");
    let lost = tokio::spawn(guard.lost());
    settle().await;
    clock.jump(secs(61));
    let reported = tokio::time::timeout(millis(1_001), lost)
        .await
        .expect("in a second");
    assert_eq!(reported.expect("no panic"), LostCause::Expired);
}

#[tokio::test(start_paused = true)]
async fn without_renewal_it_ends_after_its_ttl() {
    let (clock, store, locks) = paused();
    let start = clock.now();
    let guard = locks
        .acquire(NAME)
        .ttl(secs(3))
        .no_renewal()
        .await
        .expect("free");
    assert_eq!(guard.lost().await, LostCause::Expired);
    assert!(clock.now().since(start) < secs(3));
    until_unused(&store).await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_by_hand_moves_the_deadline_and_finds_a_loss() {
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).no_renewal().await.expect("free");
    tokio::time::sleep(secs(5)).await;
    guard.renew().await.expect("held");
    assert!(guard.remaining() > secs(9));
    store.expire(NAME);
    let error = guard.renew().await.expect_err("gone");
    assert_eq!(error.lost_cause(), Some(LostCause::Removed));
    assert!(!guard.is_held());
    assert!(store.names().is_empty(), "a renewal re-created the lock");
}

#[tokio::test(start_paused = true)]
async fn a_push_is_reported_once_and_never_after_a_release() {
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    store.revoke(NAME);
    assert_eq!(guard.lost().await, LostCause::Removed);
    assert_eq!(guard.lost().await, LostCause::Removed, "level-triggered");

    let guard = locks.acquire(NAME).await.expect("free");
    let lost = guard.lost();
    guard.release().await.expect("held");
    assert!(
        tokio::time::timeout(secs(60), lost).await.is_err(),
        "reported on release"
    );
}

#[tokio::test(start_paused = true)]
async fn jeopardy_is_reported_before_the_deadline_and_only_then() {
    let (clock, store, locks) = paused();
    let start = clock.now();
    let guard = locks.acquire(NAME).await.expect("free");
    let quiet = tokio::time::timeout(secs(60), guard.expires_within(secs(2))).await;
    assert!(quiet.is_err(), "renewals succeed");
    store.inject(Operation::Renew, Fault::Stall);
    guard.expires_within(secs(2)).await;
    let left = guard.remaining();
    assert!(left <= secs(2) && left >= millis(1_998), "{left:?}");
    assert!(guard.is_held() && clock.now().since(start) > secs(60));
}

#[tokio::test(start_paused = true)]
async fn jeopardy_after_a_suspend_is_reported_within_a_second() {
    let (clock, _store, locks) = paused();
    let guard = locks
        .acquire(NAME)
        .ttl(secs(60))
        .no_renewal()
        .await
        .expect("free");
    let jeopardy = tokio::spawn(guard.expires_within(secs(30)));
    settle().await;
    clock.jump(secs(40));
    tokio::time::timeout(millis(1_001), jeopardy)
        .await
        .expect("in a second")
        .expect("no panic");
    assert!(guard.is_held());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_hangs_for_ever_does_not_stop_the_next_one() {
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    store.inject_once(Operation::Renew, Fault::Stall);
    tokio::time::sleep(secs(60)).await;
    assert!(guard.is_held());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_finds_another_holder() {
    let (_, store, locks) = paused();
    let first = locks.acquire(NAME).await.expect("free");
    store.expire(NAME);
    let second = locks.acquire(NAME).await.expect("free");
    assert_eq!(first.lost().await, LostCause::Taken);
    assert!(second.is_held() && second.token() > first.token());
}

/// A store that answers two seconds after the request, and counts from the request.
#[derive(Debug)]
struct Slow(Memory);

#[async_trait]
impl DistributedLock for Slow {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let sent = request.sent_now();
        tokio::time::sleep(secs(2)).await;
        let token = Token::new(1).expect("not zero");
        Ok(request.granted(sent, request.ttl, token, ()))
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let sent = lease.sent_now();
        tokio::time::sleep(secs(2)).await;
        Ok(lease.renewed(sent, lease.ttl))
    }

    async fn release(&self, _: &Lease) -> Result<()> {
        Ok(())
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.0.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_counts_from_the_request() {
    let clock = Clock::pausable();
    let slow = Slow(Memory::with_clock(clock.clone()));
    let locks = Locker::builder(slow).ttl(secs(10)).clock(clock).build();
    let locks = locks.expect("locker");
    let guard = locks.acquire(NAME).await.expect("free");
    assert_eq!(guard.remaining(), millis(7_898));
    guard.renew().await.expect("held");
    assert_eq!(guard.remaining(), millis(7_898));
    let error = locks
        .acquire(NAME)
        .ttl(secs(2))
        .await
        .expect_err("it was over on arrival");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn locks_that_are_taken_together_are_not_renewed_together() {
    let clock = Clock::pausable();
    let store = Memory::with_clock(clock.clone());
    let seconds = Arc::new(Mutex::new([0_u32; 60]));
    let (start, counts) = (clock.now(), seconds.clone());
    let backend = OnRenew(store, move |lease: &Lease| {
        let second = usize::try_from(lease.sent_now().instant().since(start).as_secs());
        if let Some(count) = counts
            .lock()
            .expect("counts")
            .get_mut(second.expect("small"))
        {
            *count += 1;
        }
    });
    let locks = Locker::builder(backend)
        .clock(clock)
        .build()
        .expect("locker");
    let mut guards = Vec::new();
    for i in 0..2_000 {
        guards.push(locks.acquire(format!("seat/{i}")).await.expect("free"));
    }
    tokio::time::sleep(secs(60)).await;
    let seconds = seconds.lock().expect("counts");
    let (sum, peak) = (
        seconds.iter().sum::<u32>(),
        *seconds.iter().max().expect("60 seconds"),
    );
    // The mean is a sixtieth of the sum.
    assert!(peak * 60 * 2 <= sum * 5, "{seconds:?}");
    assert!(guards.iter().all(Guard::is_held));
}

#[tokio::test(start_paused = true)]
async fn core_releases_after_a_loss() {
    let (_, store, locks) = paused();
    let guard = locks.acquire(NAME).await.expect("free");
    store.inject(Operation::Renew, Fault::Stall);
    guard.lost().await;
    // The store's own expiry comes later than the guard's: only a release frees it at once.
    settle().await;
    assert!(store.names().is_empty());
}

//! Wake-ups that are missed (T7).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock::{ErrorKind, Guard, Locker};
use dlock_core::Clock;
use dlock_servers::{Program, redis::Node};
use dlock_verify::proxy::{Connection, Direction::ToClient, End, Fault, Faults, Proxy};
use tokio::task::JoinHandle;

use crate::support::{
    Outcome, RACES, WOKEN, calls, cases, connect, refused, soon, start, take, until, until_clean,
    until_listeners, until_marked, within,
};

cases![
    t07_a_release_between_try_and_subscribe,
    t07_a_release_while_the_subscriber_is_killed,
    t07_a_release_while_the_subscriber_is_reset,
    t07_a_new_connection_for_requests_costs_no_wake_up,
    t07_a_lost_message_is_made_up_for_by_the_ttl,
    t07_an_overdue_ping_detects_a_silent_subscription,
    t07_a_waiter_that_cannot_subscribe_yet_polls,
    k06_a_waiter_that_can_never_subscribe_knows_that_the_lock_is_taken,
    k06_a_short_wait_after_a_release_tries_once,
    t07_no_pings_are_sent_without_waiters,
    t07_a_dead_holders_lock_is_granted_by_its_ttl,
];

/// A holder, and a waiter behind a proxy.
struct Scene {
    node: Node,
    proxy: Proxy,
    holder: Locker,
    waiter: Locker,
}

impl Scene {
    async fn new(program: &Program) -> Outcome<Self> {
        Self::with(program, "").await
    }

    async fn with(program: &Program, keys: &str) -> Outcome<Self> {
        let node = start(program, &[]).await?;
        let proxy = Proxy::start(node.address())?;
        Ok(Self {
            holder: connect(node.address(), "").await?,
            waiter: connect(proxy.address(), keys).await?,
            node,
            proxy,
        })
    }

    fn wait(&self) -> JoinHandle<dlock::Result<Guard>> {
        tokio::spawn(self.waiter.acquire("a").into_future())
    }

    async fn wait_and_listen(&self) -> Outcome<JoinHandle<dlock::Result<Guard>>> {
        let waiter = self.wait();
        until_listeners(&self.node, "a", 1).await?;
        Ok(waiter)
    }

    /// The newest connection of the waiter: that for wake-ups, once it listens.
    fn last(&self) -> Outcome<Connection> {
        let last = self.proxy.connections().pop();
        last.ok_or_else(|| "no connection".into())
    }
}

async fn t07_a_release_between_try_and_subscribe(program: Program) -> Outcome {
    for _ in 0..RACES {
        let scene = Scene::new(&program).await?;
        let held = take(&scene.holder, "a").await?;
        let next = scene.proxy.accepted();
        scene.proxy.set_next(Faults::both(Fault::Hold));
        let waiter = scene.wait();
        // It has tried, and is about to subscribe on a connection of its own.
        let listening = soon("it connects", scene.proxy.connection(next)).await?;
        held.release().await?;
        listening.set_both(Fault::None);
        let guard = within(WOKEN, "it tries again", waiter).await???;
        guard.release().await?;
        until_clean(&scene.node).await?;
    }
    Ok(())
}

async fn t07_a_release_while_the_subscriber_is_killed(program: Program) -> Outcome {
    let scene = Scene::new(&program).await?;
    let mut kills = 0;
    for round in 0..RACES {
        let held = take(&scene.holder, "a").await?;
        let waiter = scene.wait_and_listen().await?;
        let kill = scene.node.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        // Some releases before, some at the same time, some while it subscribes again.
        let release = async {
            tokio::time::sleep(Duration::from_micros(u64::from(round) * 60)).await;
            held.release().await
        };
        let (killed, released) = tokio::join!(kill, release);
        // None if it was woken before, and listens no more.
        kills += killed?.int()?;
        released?;
        let guard = within(WOKEN, "it tries again", waiter).await???;
        guard.release().await?;
    }
    assert!(kills > 0, "nothing was killed");
    until_clean(&scene.node).await
}

async fn t07_a_release_while_the_subscriber_is_reset(program: Program) -> Outcome {
    let scene = Scene::new(&program).await?;
    for round in 0..RACES {
        let held = take(&scene.holder, "a").await?;
        let waiter = scene.wait_and_listen().await?;
        scene.last()?.end(End::Reset);
        tokio::time::sleep(Duration::from_micros(u64::from(round) * 60)).await;
        held.release().await?;
        let guard = within(WOKEN, "it tries again", waiter).await???;
        guard.release().await?;
    }
    until_clean(&scene.node).await
}

/// The connection that hears is made again beside the new one for requests: who listened on the former
/// one has to hear of it.
async fn t07_a_new_connection_for_requests_costs_no_wake_up(program: Program) -> Outcome {
    for _ in 0..5 {
        let scene = Scene::new(&program).await?;
        let held = take(&scene.holder, "a").await?;
        let also = take(&scene.holder, "b").await?;
        let requests = scene.last()?;
        let waiter = scene.wait_and_listen().await?;
        requests.end(End::Cut);
        requests.until_ended().await;
        let other = tokio::spawn(scene.waiter.acquire("b").into_future());
        until_listeners(&scene.node, "b", 1).await?;
        held.release().await?;
        let guard = within(WOKEN, "it tries again", waiter).await???;
        guard.release().await?;
        also.release().await?;
        let guard = within(WOKEN, "it is woken", other).await???;
        guard.release().await?;
        until_clean(&scene.node).await?;
    }
    Ok(())
}

/// How long after the release of a lock with this ttl it is granted, if the listener hears nothing.
async fn unresponsive(
    scene: &Scene,
    ttl: Duration,
    silence: impl Fn(&Connection),
) -> Outcome<Duration> {
    let held = scene.holder.acquire("a").ttl(ttl).no_renewal().await?;
    let waiter = scene.wait_and_listen().await?;
    // Its try after the subscription has ended.
    tokio::time::sleep(ttl / 10).await;
    silence(&scene.last()?);
    let clock = Clock::boottime();
    let released = clock.now();
    held.release().await?;
    let most = ttl + scene.waiter.capabilities().takeover_max;
    let guard = within(most, "the ttl is over", waiter).await???;
    let after = clock.now().since(released);
    guard.release().await?;
    Ok(after)
}

async fn t07_a_lost_message_is_made_up_for_by_the_ttl(program: Program) -> Outcome {
    let ttl = Duration::from_secs(2);
    let scene = Scene::new(&program).await?;
    let after = unresponsive(&scene, ttl, |line| line.set(ToClient, Fault::Discard)).await?;
    assert!(after > ttl / 4, "{after:?}: nothing was lost");
    Ok(())
}

/// A ping, its overdue reply, and a poll; on a busy machine.
const PING_MISSED: Duration = Duration::from_secs(4);

/// The ttl is far longer than that.
async fn t07_an_overdue_ping_detects_a_silent_subscription(program: Program) -> Outcome {
    let holds = |line: &Connection| line.set_both(Fault::Hold);
    let swallows = |line: &Connection| line.set(ToClient, Fault::Discard);
    let is_half_open = |line: &Connection| line.end(End::Server);
    let ways: [&(dyn Fn(&Connection) + Sync); 3] = [&holds, &swallows, &is_half_open];
    for silence in ways {
        // With a long time-out the connection stays for as long.
        for keys in ["", "timeout=30s"] {
            let scene = Scene::with(&program, keys).await?;
            let held = take(&scene.holder, "a").await?;
            let waiter = scene.wait_and_listen().await?;
            silence(&scene.last()?);
            held.release().await?;
            let guard = within(PING_MISSED, "the waiter polls", waiter).await???;
            guard.release().await?;
            // From now on it is known.
            for _ in 0..2 {
                let held = take(&scene.holder, "a").await?;
                let waiter = scene.wait();
                tokio::time::sleep(Duration::from_millis(300)).await;
                held.release().await?;
                let guard = within(PING_MISSED, "it is woken, or polls", waiter).await???;
                guard.release().await?;
            }
        }
    }
    Ok(())
}

async fn t07_a_waiter_that_cannot_subscribe_yet_polls(program: Program) -> Outcome {
    let scene = Scene::with(&program, "connect_timeout=30s&timeout=30s").await?;
    let held = take(&scene.holder, "a").await?;
    let next = scene.proxy.accepted();
    scene.proxy.set_next(Faults::both(Fault::Hold));
    let waiter = scene.wait();
    soon("it connects", scene.proxy.connection(next)).await?;
    held.release().await?;
    let guard = within(PING_MISSED, "the waiter polls", waiter).await???;
    guard.release().await?;
    Ok(())
}

/// The server has no room for another connection, and answers requests on the one that is there.
async fn k06_a_waiter_that_can_never_subscribe_knows_that_the_lock_is_taken(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    let (has_room, server) = (Arc::new(AtomicBool::new(true)), node.address());
    let is_open = has_room.clone();
    let proxy = Proxy::switch(move |_| is_open.load(Ordering::Acquire).then_some(server))?;
    let holder = connect(node.address(), "").await?;
    let waiter = connect(proxy.address(), "").await?;
    let held = take(&holder, "a").await?;
    has_room.store(false, Ordering::Release);
    let error = refused(waiter.acquire("a").wait(Duration::from_secs(2)).await)?;
    assert_eq!(error.kind(), ErrorKind::Contended, "{error}");
    assert!(error.to_string().contains("notified"), "{error}");
    held.release().await?;
    let guard = soon("it polls", waiter.acquire("a")).await??;
    guard.release().await?;
    until_clean(&node).await
}

/// A client that has released a contended name subscribes before it tries, and the new connection hangs.
async fn k06_a_short_wait_after_a_release_tries_once(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let first = connect(proxy.address(), "").await?;
    let second = connect(node.address(), "").await?;
    let held = take(&first, "a").await?;
    let waiter = tokio::spawn(second.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    until_marked(&node, "a").await?;
    held.release().await?;
    let _held = soon("it is granted", waiter).await???;
    proxy.set_next(Faults::both(Fault::Hold));
    let wait = first.acquire("a").wait(Duration::from_millis(800));
    let error = refused(wait.await)?;
    assert_eq!(error.kind(), ErrorKind::Contended, "{error}");
    Ok(())
}

/// The server gets no pings while there are no waiters.
async fn t07_no_pings_are_sent_without_waiters(program: Program) -> Outcome {
    let scene = Scene::new(&program).await?;
    let pings = async || Outcome::Ok(calls(&scene.node, "ping").await.unwrap_or(0));
    for _ in 0..2 {
        let held = take(&scene.holder, "a").await?;
        let (waiter, before) = (scene.wait_and_listen().await?, pings().await?);
        until("a ping is sent", async || Ok(pings().await? > before)).await?;
        held.release().await?;
        soon("it is woken", waiter).await???.release().await?;
        until_clean(&scene.node).await?;
        // One may be on its way.
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let before = pings().await?;
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        assert_eq!(pings().await?, before, "no waiter is left");
    }
    Ok(())
}

async fn t07_a_dead_holders_lock_is_granted_by_its_ttl(program: Program) -> Outcome {
    let scene = Scene::new(&program).await?;
    let most = Duration::from_secs(1) + scene.waiter.capabilities().takeover_max;
    for _ in 0..3 {
        let value = "0123456789abcdef0123456789abcdef 7 1 1@gone";
        let set = ["SET", "dlock:a", value, "PX", "1000"];
        scene.node.command(&set).await?;
        let guard = within(most, "it is taken over", scene.wait()).await???;
        guard.release().await?;
    }
    until_clean(&scene.node).await
}

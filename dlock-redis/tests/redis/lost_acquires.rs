//! An acquire of which the request or the reply is lost (T1).

use std::time::Duration;

use dlock::{Effect, ErrorKind};
use dlock_core::Clock;
use dlock_servers::Program;
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    Fault, Proxy,
};

use crate::{
    proxied::Proxied,
    support::{
        Outcome, RACES, cases, connect, ends_first, locks, refused, soon, start, take, until_clean,
        until_listeners, until_marked, value, warm_up,
    },
};

cases![
    t01_lost_request_of_an_acquire,
    t01_lost_reply_of_a_try_acquire,
    t01_lost_reply_of_a_waiting_acquire,
    t01_lost_reply_of_a_waiter_that_was_woken,
    t01_a_grant_that_is_found_late_ends_late,
    t01_no_reply_ever_to_a_try_acquire_is_undone,
    t01_no_reply_ever_to_a_waiting_acquire_is_undone,
    t02_an_acquire_that_arrives_after_its_end_grants_nothing,
];

/// A request that is lost before the server has no effect, and is sent again.
async fn t01_lost_request_of_an_acquire(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    for _ in 0..RACES {
        let tried = client.lose_request()?;
        let guard = take(&client.locker, "a").await?;
        assert!(tried.has_ended() && guard.is_held());
        guard.release().await?;
        let waited = client.lose_request()?;
        let guard = soon("it is granted", client.locker.acquire("a")).await??;
        assert!(waited.has_ended() && guard.is_held());
        guard.release().await?;
    }
    until_clean(&client.node).await
}

async fn t01_lost_reply_of_a_try_acquire(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    let mut last = 0;
    for _ in 0..RACES {
        let acquire = async {
            let guard = client.locker.try_acquire("a").await?;
            guard.ok_or_else(dlock::Error::contended)
        };
        let guard = client.lose_reply(&client.last()?, acquire).await?;
        assert!(guard.token().get() > last);
        last = guard.token().get();
        guard.release().await?;
    }
    until_clean(&client.node).await
}

async fn t01_lost_reply_of_a_waiting_acquire(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    for _ in 0..RACES {
        let last = client.last()?;
        let guard = client.lose_reply(&last, client.locker.acquire("a")).await?;
        guard.release().await?;
    }
    until_clean(&client.node).await
}

async fn t01_lost_reply_of_a_waiter_that_was_woken(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    let other = connect(client.node.address(), "").await?;
    for _ in 0..RACES {
        let held = take(&other, "a").await?;
        // Its connection for requests; that for wake-ups comes after it.
        let requests = client.last()?;
        let waiter = tokio::spawn(client.locker.acquire("a").into_future());
        until_listeners(&client.node, "a", 1).await?;
        // The waiter may be sending its second request just now.
        until_marked(&client.node, "a").await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        requests.set(ToClient, Fault::CutInstead);
        held.release().await?;
        let guard = soon("the waiter is granted", waiter).await???;
        assert!(requests.has_ended(), "nothing was lost");
        let found = value(&client.node, "a").await?.unwrap_or_default();
        assert!(found.starts_with(&format!("{} {} ", guard.id(), guard.token())));
        guard.release().await?;
        // The next round's newest connection is that for requests again.
        until_clean(&client.node).await?;
    }
    Ok(())
}

/// K2: the holder counts from before the question that was answered, and so must the server.
async fn t01_a_grant_that_is_found_late_ends_late(program: Program) -> Outcome {
    let (ttl, late) = (Duration::from_secs(6), Duration::from_secs(1));
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "timeout=1s").await?;
    for _ in 0..3 {
        let last = proxy.connections().pop().ok_or("no connection")?;
        last.set(ToClient, Fault::Hold);
        let began = Clock::boottime().now();
        let acquire = locker.acquire("a").ttl(ttl).no_renewal();
        let guard = soon("it repeats the request, and finds it", acquire).await??;
        let took = Clock::boottime().now().since(began);
        assert!(took >= late, "{took:?}: nothing was late");
        assert!(guard.remaining() > ttl - late, "it counts from the first");
        ends_first(&guard, &node).await?;
        guard.release().await?;
    }
    until_clean(&node).await
}

async fn t01_no_reply_ever_to_a_try_acquire_is_undone(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    for _ in 0..5 {
        let last = client.last()?;
        client.proxy.set(ToClient, Fault::CutInstead);
        let heal = async {
            last.until_ended().await;
            assert!(value(&client.node, "a").await?.is_some(), "it was granted");
            // Long enough that it has given up trying.
            client.proxy.connection(client.proxy.accepted() + 5).await;
            client.proxy.set(ToClient, Fault::None);
            Outcome::Ok(())
        };
        let both = async { tokio::join!(client.locker.try_acquire("a"), heal) };
        let (answer, healed) = soon("it ends", both).await?;
        healed?;
        let error = refused(answer)?;
        assert_eq!(
            (error.kind(), error.effect()),
            (ErrorKind::Unavailable, Effect::Unknown)
        );
        assert_eq!(locks(&client.node).await?, [""; 0], "it is undone by now");
        warm_up(&client.locker).await?;
    }
    Ok(())
}

async fn t01_no_reply_ever_to_a_waiting_acquire_is_undone(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    for _ in 0..5 {
        let last = client.last()?;
        client.proxy.set(ToClient, Fault::CutInstead);
        let wait = client.locker.acquire("a").wait(Duration::from_millis(300));
        let error = refused(soon("the wait ends", wait).await?)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(last.has_ended() && value(&client.node, "a").await?.is_some());
        client.proxy.set(ToClient, Fault::None);
        until_clean(&client.node).await?;
        warm_up(&client.locker).await?;
    }
    Ok(())
}

/// The network keeps a request for longer than its time-out. It delivers it when the lock has been taken and
/// released by the request after it.
async fn t02_an_acquire_that_arrives_after_its_end_grants_nothing(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "timeout=300ms").await?;
    warm_up(&locker).await?;
    for _ in 0..5 {
        let late = proxy.connections().pop().ok_or("no connection")?;
        late.set(ToServer, Fault::Hold);
        take(&locker, "a").await?.release().await?;
        late.set(ToServer, Fault::None);
        soon("it is delivered, or never will be", late.until_ended()).await?;
        until_clean(&node).await?;
    }
    Ok(())
}

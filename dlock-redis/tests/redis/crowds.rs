//! Many clients that want one lock: few tries for each grant, and each client gets it.

use dlock::Locker;
use dlock_servers::{Program, redis::Node};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::support::{
    Outcome, WOKEN, calls, cases, connect, connect_as_user, soon, start, take, until_clean,
    until_listeners, until_marked, value, within,
};

cases![
    twenty_clients_try_few_times_for_each_grant,
    two_hundred_clients_try_few_times_for_each_grant,
    a_waiter_among_others_requests_the_notification_with_its_grant,
    who_released_a_contended_lock_subscribes_before_the_next_try,
    k06_a_user_who_may_not_count_listeners_wakes_all,
];

/// The bound on acquires that the server executes for each grant.
const TRIES_MAX: u64 = 10;

/// A client that only listens.
struct Listener {
    _stream: TcpStream,
}

impl Listener {
    async fn start(node: &Node) -> Outcome<Self> {
        let mut stream = TcpStream::connect(node.address()).await?;
        stream.write_all(b"SUBSCRIBE {dlock:a}:free\r\n").await?;
        let mut confirmed = [0; 1];
        stream.read_exact(&mut confirmed).await?;
        Ok(Self { _stream: stream })
    }
}

/// Each of `clients` takes the lock `times` times; none is left behind, or the case does not end.
async fn contend(program: &Program, clients: u64, times: u64) -> Outcome {
    let node = start(program, &["maxclients 1000"]).await?;
    let mut lockers = Vec::new();
    for _ in 0..clients {
        lockers.push(connect(node.address(), "").await?);
    }
    node.command(&["CONFIG", "RESETSTAT"]).await?;
    let mut running: JoinSet<dlock::Result<Locker>> = JoinSet::new();
    for locker in lockers {
        running.spawn(async move {
            for _ in 0..times {
                let guard = locker.acquire("a").wait_forever().await?;
                guard.release().await?;
            }
            Ok(locker)
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    // One call of a script for each release; the others are tries.
    let grants = clients * times;
    let tries = calls(&node, "evalsha").await? - grants;
    assert!(
        tries <= TRIES_MAX * grants,
        "{tries} tries, {grants} grants"
    );
    until_clean(&node).await
}

async fn twenty_clients_try_few_times_for_each_grant(program: Program) -> Outcome {
    contend(&program, 20, 25).await
}

async fn two_hundred_clients_try_few_times_for_each_grant(program: Program) -> Outcome {
    contend(&program, 200, 2).await
}

/// The others may make a pause when its lock is released: no try of theirs has requested anything.
async fn a_waiter_among_others_requests_the_notification_with_its_grant(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    let (holder, other) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let held = take(&holder, "a").await?;
    let waiter = tokio::spawn(other.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    let listener = Listener::start(&node).await?;
    until_marked(&node, "a").await?;
    held.release().await?;
    let guard = soon("it is woken", waiter).await???;
    let value = value(&node, "a").await?.ok_or("no lock")?;
    assert!(value.ends_with('\n'), "{value:?}");
    guard.release().await?;
    drop(listener);
    until_clean(&node).await
}

async fn who_released_a_contended_lock_subscribes_before_the_next_try(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let listener = Listener::start(&node).await?;
    let held = take(&locker, "a").await?;
    node.command(&["APPEND", "dlock:a", "\n"]).await?;
    held.release().await?;
    let before = calls(&node, "subscribe").await?;
    locker.acquire("a").await?.release().await?;
    assert_eq!(calls(&node, "subscribe").await?, before + 1);
    // That release was published to no client.
    locker.acquire("a").await?.release().await?;
    assert_eq!(calls(&node, "subscribe").await?, before + 1);
    drop(listener);
    until_clean(&node).await
}

async fn k06_a_user_who_may_not_count_listeners_wakes_all(program: Program) -> Outcome {
    const WAITERS: usize = 5;
    let node = start(&program, &[]).await?;
    let holder = connect_as_user(&node, &["-pubsub"]).await?;
    let held = take(&holder, "a").await?;
    let mut waiters: JoinSet<dlock::Result<()>> = JoinSet::new();
    for _ in 0..WAITERS {
        let other = connect(node.address(), "").await?;
        waiters.spawn(async move {
            other.acquire("a").wait_forever().await?.release().await?;
            Ok(())
        });
    }
    until_listeners(&node, "a", i64::try_from(WAITERS)?).await?;
    held.release().await?;
    while let Some(ended) = within(WOKEN, "each is woken", waiters.join_next()).await? {
        ended??;
    }
    until_clean(&node).await
}

//! Changes of our directories by other clients, and callers that drop or stall our futures (T45, T47, T49,
//! T51).

use std::{pin::pin, time::Duration};

use dlock::{ErrorKind, LostCause};
use dlock_servers::zk::Java;
use dlock_verify::{
    proxy::{
        Direction::{ToClient, ToServer},
        Fault, Proxy,
    },
    support::poll_times,
};
use tokio::task::JoinSet;
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    LONG, Outcome, SOON, cases, connect, driver, queue, refused, soon, start, take, until_queue,
    within,
};

cases![
    t45_an_acquire_that_is_not_polled_holds_up_no_other_name,
    t47_a_queue_of_ten_thousand,
    t49_a_lock_that_is_removed_as_a_whole,
    t49_a_lost_reply_while_the_directory_is_made,
    t51_a_chroot_that_is_removed,
];

async fn t45_an_acquire_that_is_not_polled_holds_up_no_other_name(java: Java) -> Outcome {
    /// More than an acquire has.
    const POLLS: u32 = 8;
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let other = connect(node.address(), LONG).await?;
    for polls in 1..POLLS {
        let mut acquire = pin!(locker.acquire("a").into_future());
        let ended = poll_times(acquire.as_mut(), polls).await;
        for name in ["b", "c"] {
            let guard = soon("another name", locker.acquire(name)).await??;
            guard.renew().await?;
            guard.release().await?;
        }
        match ended {
            Some(guard) => guard?.release().await?,
            None => soon("its end", acquire).await??.release().await?,
        }
        take(&other, "a").await?.release().await?;
    }
    Ok(())
}

async fn t47_a_queue_of_ten_thousand(java: Java) -> Outcome {
    const LENGTH: usize = 10_000;
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    take(&locker, "a").await?.release().await?;
    let crowd = driver(node.address()).await?;
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let stem = "/dlock/a/_c_00000000-0000-0000-0000-000000000000-lock-";
    let mut made = JoinSet::new();
    for _ in 0..LENGTH {
        let (crowd, options) = (crowd.clone(), options.clone());
        made.spawn(async move { crowd.create(stem, b"", &options).await.map(drop) });
    }
    while let Some(made) = within(4 * SOON, "the crowd", made.join_next()).await? {
        made??;
    }
    assert!(soon("an answer", locker.try_acquire("a")).await??.is_none());
    assert!(soon("the first", locker.inspect("a")).await??.is_some());
    let watch = driver(node.address()).await?;
    until_queue(&watch, "a", LENGTH).await?;
    let waiting = tokio::spawn(locker.acquire("a").wait_forever().into_future());
    until_queue(&watch, "a", LENGTH + 1).await?;
    drop(crowd);
    soon("its turn", waiting).await???.release().await?;
    Ok(())
}

/// An administrator removes nodes and directory in one transaction.
async fn t49_a_lock_that_is_removed_as_a_whole(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (holder, waiter) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let driver = driver(node.address()).await?;
    let held = take(&holder, "a").await?;
    held.renew().await?;
    let waiting = tokio::spawn(waiter.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 2).await?;
    let nodes = queue(&driver, "a").await?;
    let mut clean_up = driver.new_multi_writer();
    for node in nodes {
        clean_up.add_delete(&format!("/dlock/a/{node}"), None)?;
    }
    clean_up.add_delete("/dlock/a", None)?;
    clean_up.commit().await?;
    assert_eq!(soon("the loss", held.lost()).await?, LostCause::Removed);
    let next = soon("the next one's turn", waiting).await???;
    assert!(next.token() > held.token());
    Ok(next.release().await?)
}

async fn t49_a_lost_reply_while_the_directory_is_made(java: Java) -> Outcome {
    const SLOW: Duration = Duration::from_millis(200);
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), LONG).await?;
    let connection = proxy.connection(0).await;
    connection.set(ToServer, Fault::Delay(SLOW));
    let passed = connection.passed(ToClient);
    let acquire = tokio::spawn(locker.acquire("a").wait_forever().into_future());
    connection.until_passed(ToClient, passed + 1).await;
    // Now it requests the directory; the rest of the answer comes earlier than that of this.
    tokio::time::sleep(SLOW / 4).await;
    connection.set(ToClient, Fault::CutInstead);
    soon("the reply is lost", connection.until_ended()).await?;
    let guard = soon("the lock", acquire).await???;
    let driver = driver(node.address()).await?;
    assert_eq!(queue(&driver, "a").await?.len(), 1);
    Ok(guard.release().await?)
}

async fn t51_a_chroot_that_is_removed(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    driver.mkdir("/team", &options).await?;
    let locker = connect(format!("{}/team", node.address()), LONG).await?;
    for path in ["/team/dlock/%layout", "/team/dlock", "/team"] {
        driver.delete(path, None).await?;
    }
    let error = refused(soon("an error", locker.try_acquire("a")).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().contains("does the chroot still exist?"),
        "{error}"
    );
    let waiting = tokio::spawn(locker.acquire("a").wait_forever().into_future());
    driver.mkdir("/team", &options).await?;
    soon("it is there again", waiting)
        .await???
        .release()
        .await?;
    Ok(())
}

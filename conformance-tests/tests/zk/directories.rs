//! The directories of locks: written to with each node, unless they are somebody's.

use conformance_tests::servers::zk::Java;
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Permission};

use crate::kit::{LONG, Outcome, cases, connect, driver, start, take};

cases![
    a_free_lock_that_is_known_takes_two_requests,
    a_directory_with_data_is_left_as_it_is,
    a_directory_that_nobody_may_write_to_has_locks,
    a_taken_lock_is_known_by_its_directory,
];

/// How many rounds are counted: the heartbeats in between do not matter then.
const ROUNDS: u64 = 200;

/// How often each directory was written to.
async fn writes(client: &Client) -> Outcome<i32> {
    let stat = client.check_stat("/dlock/a").await?;
    Ok(stat.ok_or("no directory")?.version)
}

async fn a_free_lock_that_is_known_takes_two_requests(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    take(&locker, "a").await?.release().await?;
    let packets =
        async || -> Outcome<u64> { Ok(node.monitored("zk_packets_received").await?.parse()?) };
    let before = packets().await?;
    for _ in 0..ROUNDS {
        take(&locker, "a").await?.release().await?;
    }
    let asked = packets().await? - before;
    let expected = 2 * ROUNDS..2 * ROUNDS + ROUNDS / 4;
    assert!(expected.contains(&asked), "{asked}");
    Ok(())
}

async fn a_directory_with_data_is_left_as_it_is(java: Java) -> Outcome {
    let node = start(&java).await?;
    let client = driver(node.address()).await?;
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    client.create("/dlock", b"", &options).await?;
    client.create("/dlock/a", b"theirs", &options).await?;
    let locker = connect(node.address(), LONG).await?;
    for _ in 0..3 {
        take(&locker, "a").await?.release().await?;
    }
    let (data, stat) = client.get_data("/dlock/a").await?;
    assert_eq!((&*data, stat.version), (&b"theirs"[..], 0));
    Ok(())
}

async fn a_directory_that_nobody_may_write_to_has_locks(java: Java) -> Outcome {
    let node = start(&java).await?;
    let client = driver(node.address()).await?;
    let permissions = Permission::CREATE | Permission::DELETE | Permission::READ;
    let acls = [Acl::new(permissions, AuthId::anyone())];
    let closed = CreateMode::Persistent.with_acls(Acls::from(&acls[..]));
    let open = CreateMode::Persistent.with_acls(Acls::anyone_all());
    client.create("/dlock", b"", &open).await?;
    client.create("/dlock/a", b"", &closed).await?;
    let locker = connect(node.address(), LONG).await?;
    for _ in 0..3 {
        take(&locker, "a").await?.release().await?;
    }
    assert_eq!(writes(&client).await?, 0);
    Ok(())
}

async fn a_taken_lock_is_known_by_its_directory(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (client, holder) = (
        driver(node.address()).await?,
        connect(node.address(), LONG).await?,
    );
    let other = connect(node.address(), LONG).await?;
    for locker in [&holder, &other] {
        take(locker, "a").await?.release().await?;
        take(locker, "a").await?.release().await?;
    }
    let before = writes(&client).await?;
    let held = take(&holder, "a").await?;
    assert!(other.try_acquire("a").await?.is_none());
    let token = held.token();
    held.release().await?;
    let guard = take(&other, "a").await?;
    assert!(guard.token() > token);
    guard.release().await?;
    assert!(writes(&client).await? > before, "both knew it");
    Ok(())
}

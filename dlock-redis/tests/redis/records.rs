//! Data in the server other than the locks: the layout, its version, and rolling upgrades within it.

use std::time::Duration;

use dlock::ErrorKind;
use dlock_servers::{Program, redis::Node};

use crate::support::{
    COUNTER, Outcome, RECORD, cases, connect, connect_as_user, open, refused, start, take,
    until_clean, value,
};

cases![
    the_layout_is_as_it_was,
    another_layout_is_refused_with_both_numbers,
    a_later_release_of_the_same_layout_may_say_more,
    a_history_of_the_future_is_waited_for_no_longer_than_the_guard,
    k04_renewals_and_releases_go_on_where_nothing_may_be_granted,
];

async fn get(node: &Node, key: &str) -> Outcome<String> {
    Ok(node.command(&["GET", key]).await?.text()?)
}

async fn time(node: &Node) -> Outcome<u64> {
    let parts = node.command(&["TIME"]).await?.array()?;
    let mut parts = parts.into_iter().map(|part| Ok(part.text()?.parse()?));
    let mut next = || -> Outcome<u64> { parts.next().ok_or("no time")? };
    Ok(next()? * 1_000_000 + next()?)
}

/// A change of any of this increments the version of the layout: programs before and after the change would not
/// understand each other's locks.
async fn the_layout_is_as_it_was(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let before = time(&node).await?;
    let locker = connect(node.address(), "").await?;
    let guard = locker.acquire("seat/{14}%").note("a note").await?;
    let after = time(&node).await?;
    let mut keys = Vec::new();
    for key in node.command(&["KEYS", "*"]).await?.array()? {
        keys.push(key.text()?);
    }
    keys.sort_unstable();
    let lock = "dlock:seat/%7B14%7D%25";
    assert_eq!(keys, [lock, "dlock:{all}fence", "dlock:{all}record"]);
    let record = get(&node, RECORD).await?;
    let words: Vec<_> = record.split(' ').collect();
    let run = node.info("run_id").await?;
    let since = words.get(2).ok_or("no time")?.to_string();
    assert_eq!(words, ["1", &run, &since, "new", "-"]);
    assert!((before..=after).contains(&since.parse()?), "{since}");
    let token = guard.token().to_string();
    assert_eq!(get(&node, COUNTER).await?, token);
    let held = get(&node, lock).await?;
    let words: Vec<_> = held.splitn(5, ' ').collect();
    let id = guard.id().to_string();
    assert_eq!(words[..2], [id.as_str(), token.as_str()], "{held}");
    assert!(words[3].contains('@') && words[4] == "a note", "{held}");
    for key in [RECORD, COUNTER] {
        assert_eq!(node.command(&["PTTL", key]).await?.int()?, -1, "{key} ends");
    }
    guard.release().await?;
    until_clean(&node).await
}

async fn another_layout_is_refused_with_both_numbers(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let held = take(&locker, "a").await?;
    let ours = get(&node, RECORD).await?;
    for (record, says) in [
        ("2 what it says then 17 18", "layout 2"),
        ("0 x 1 new -", "layout 0"),
        ("hello", "\"hello\""),
    ] {
        node.command(&["SET", RECORD, record]).await?;
        let error = refused(connect(node.address(), "").await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        // Nor on a connection that was there before.
        let error = refused(locker.acquire("b").await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        assert_eq!(get(&node, RECORD).await?, record, "it was written over");
    }
    assert_eq!(value(&node, "b").await?, None);
    node.command(&["SET", RECORD, &ours]).await?;
    Ok(held.release().await?)
}

/// Programs of both releases work together while a fleet is upgraded.
async fn a_later_release_of_the_same_layout_may_say_more(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let before = connect(node.address(), "").await?;
    let held = take(&before, "a").await?;
    let later = get(&node, RECORD).await? + " and=more of=it";
    node.command(&["SET", RECORD, &later]).await?;
    let after = connect(node.address(), "").await?;
    assert!(after.try_acquire("a").await?.is_none());
    assert!(before.try_acquire("a").await?.is_none());
    let other = take(&before, "b").await?;
    assert!(after.try_acquire("b").await?.is_none());
    assert!(other.token() > held.token());
    held.renew().await?;
    held.release().await?;
    let next = take(&after, "a").await?;
    assert!(next.token() > other.token());
    next.release().await?;
    other.release().await?;
    assert_eq!(get(&node, RECORD).await?, later, "what it says was lost");
    until_clean(&node).await
}

/// The record cannot be used any more, or the server may evict locks from now on. That is found on a new connection.
async fn k04_renewals_and_releases_go_on_where_nothing_may_be_granted(program: Program) -> Outcome {
    let changes: [(&[&[&str]], _, _); 3] = [
        (
            &[&["DEL", RECORD], &["HSET", RECORD, "other", "program"]],
            ErrorKind::Unsupported,
            RECORD,
        ),
        (
            &[&[
                "ACL",
                "SETUSER",
                "shop",
                "resetkeys",
                "~dlock:a",
                "~dlock:b",
            ]],
            ErrorKind::Denied,
            "ACL",
        ),
        (
            &[
                &["CONFIG", "SET", "maxmemory", "100mb"],
                &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"],
            ],
            ErrorKind::InvalidConfig,
            "may_evict=true",
        ),
    ];
    for (change, kind, says) in changes {
        let node = start(&program, &[]).await?;
        let locker = connect_as_user(&node, &[]).await?;
        let held = take(&locker, "a").await?;
        for command in change {
            node.command(command).await?;
        }
        node.command(&["CLIENT", "KILL", "TYPE", "normal"]).await?;
        held.renew().await?;
        for _ in 0..2 {
            let error = refused(locker.try_acquire("b").await)?;
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(says), "{error}");
            held.renew().await?;
        }
        held.release().await?;
        assert_eq!(value(&node, "a").await?, None);
        if kind != ErrorKind::Denied {
            let error = refused(connect(node.address(), "").await)?;
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
    Ok(())
}

/// The clock was set back.
async fn a_history_of_the_future_is_waited_for_no_longer_than_the_guard(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    let run = node.info("run_id").await?;
    let future = time(&node).await? + 3_600_000_000;
    let record = format!("1 {run} {future} restart -");
    node.command(&["SET", RECORD, &record]).await?;
    node.command(&["SET", COUNTER, "1"]).await?;
    let locker = open(node.address(), "restart_guard=2s&ttl=2s").await?;
    let error = refused(locker.try_acquire("a").await)?;
    assert!(error.to_string().contains("restart_guard="), "{error}");
    let wait = locker.acquire("a").wait(Duration::from_secs(20));
    Ok(wait.await?.release().await?)
}

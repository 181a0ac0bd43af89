//! How names become keys: `format=plain`, and names that are refused rather than locked twice.

use dlock::ErrorKind;
use dlock_servers::{
    Program,
    redis::{Node, Reply},
};

use crate::{
    cluster::{self, cluster},
    support::{
        COUNTER, Outcome, RECORD, calls, cases, connect, refused, soon, start, take, until,
        until_clean,
    },
};

cases![
    a_plain_name_is_the_key_that_other_clients_use,
    a_waiter_for_a_plain_name_with_braces_is_woken,
    a_name_that_would_be_a_second_lock_is_refused,
    a_plain_name_that_is_a_key_of_ours_is_refused,
    two_formats_on_one_prefix_are_refused,
    two_formats_in_a_cluster_are_refused,
    a_format_is_one_of_three,
    plain_names_have_the_slot_of_their_own_braces,
];

/// The key is the name as it is.
const PLAIN: &str = "prefix=&format=plain";

/// Names with the characters that are escaped by default.
const NAMES: [&str; 6] = ["a{b}%", "{user:7}:cart", "a}b", "{}x", "{", "50%25"];

async fn a_plain_name_is_the_key_that_other_clients_use(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    for name in NAMES {
        let set = ["SET", name, "theirs", "NX", "PX", "60000"];
        let held = take(&locker, name).await?;
        assert_eq!(node.command(&set).await?, Reply::Nil, "{name}");
        held.renew().await?;
        held.release().await?;
        assert_eq!(node.command(&set).await?.text()?, "OK", "{name}");
        assert!(locker.try_acquire(name).await?.is_none(), "{name}");
        node.command(&["DEL", name]).await?;
    }
    Ok(())
}

/// Whether the channel is that of a key: in braces, or after a tag if the key has braces.
fn is_of(channel: &str, key: &str) -> bool {
    let (tag, rest) = channel.split_at_checked("{ABC}".len()).unwrap_or_default();
    let is_tagged = tag.starts_with('{') && tag.ends_with('}') && rest == format!("{key}:free");
    match key.contains(['{', '}']) {
        true => is_tagged,
        false => channel == format!("{{{key}}}:free"),
    }
}

async fn listeners(node: &Node) -> Outcome<Vec<String>> {
    let channels = node.command(&["PUBSUB", "CHANNELS", "*:free"]).await?;
    let channels = channels.array()?.into_iter().map(Reply::text);
    Ok(channels.collect::<Result<_, _>>()?)
}

/// A poll would come within a second, so the publication itself is counted.
async fn a_waiter_for_a_plain_name_with_braces_is_woken(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let keys = "format=plain";
    let (holder, other) = (
        connect(node.address(), keys).await?,
        connect(node.address(), keys).await?,
    );
    for (round, name) in (1..).zip(NAMES) {
        let (held, plain) = (take(&holder, name).await?, take(&holder, "plain").await?);
        let waiter = tokio::spawn(other.acquire(name).into_future());
        let second = tokio::spawn(other.acquire("plain").into_future());
        until("both listen", async || {
            Ok(listeners(&node).await?.len() == 2)
        })
        .await?;
        let channels = listeners(&node).await?;
        assert!(
            channels
                .iter()
                .any(|channel| is_of(channel, &format!("dlock:{name}"))),
            "{channels:?}"
        );
        // In one command, or in two.
        let (one, two) = tokio::join!(held.release(), plain.release());
        one.and(two)?;
        soon("it is woken", waiter).await???.release().await?;
        soon("it is woken", second).await???.release().await?;
        assert_eq!(calls(&node, "publish").await?, 2 * round, "{name}");
    }
    until("nothing is left", async || {
        Ok(listeners(&node).await?.is_empty())
    })
    .await
}

async fn a_name_that_would_be_a_second_lock_is_refused(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "prefix=").await?;
    let before = calls(&node, "eval").await?;
    for name in NAMES {
        for answer in [
            locker.try_acquire(name).await.map(drop),
            locker.acquire(name).await.map(drop),
            locker.inspect(name).await.map(drop),
        ] {
            let error = refused(answer)?;
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(error.to_string().contains("format=plain"), "{error}");
        }
    }
    assert_eq!(calls(&node, "eval").await?, before, "it was sent");
    take(&locker, "seat/14C").await?.release().await?;
    until_clean(&node).await
}

async fn a_plain_name_that_is_a_key_of_ours_is_refused(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    // The keys of the default prefix are names of the empty one.
    let default = connect(node.address(), "").await?;
    let token = take(&default, "a").await?.token().to_string();
    let locker = connect(node.address(), PLAIN).await?;
    let own = ["{all}fence", "{all}record", "{all}migration", "{DLH}record"];
    for name in [COUNTER, RECORD].into_iter().chain(own) {
        let error = refused(locker.try_acquire(name).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("{all}fence"), "{error}");
    }
    let counter = node.command(&["GET", COUNTER]).await?.text()?;
    assert_eq!(counter, token);
    Ok(())
}

/// The name `a{b}` has another key in each.
async fn two_formats_on_one_prefix_are_refused(program: Program) -> Outcome {
    for (first, second) in [("escaped", "plain"), ("plain", "escaped")] {
        let node = start(&program, &[]).await?;
        let locker = connect(node.address(), &format!("format={first}")).await?;
        let held = take(&locker, "a{b}").await?;
        let error = refused(connect(node.address(), &format!("format={second}")).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        assert!(error.to_string().contains("format=plain"), "{error}");
        assert!(error.to_string().contains("the default format"), "{error}");
        // Another prefix has a format of its own.
        let keys = format!("prefix=other:&format={second}");
        let other = connect(node.address(), &keys).await?;
        take(&other, "a{b}").await?.release().await?;
        held.renew().await?;
        // A new connection of the first format is right.
        let again = connect(node.address(), &format!("format={first}")).await?;
        assert!(again.try_acquire("a{b}").await?.is_none());
        held.release().await?;
    }
    Ok(())
}

/// A master that has lost its record refuses no one. The second format leaves no record there, which would refuse the
/// first one.
async fn two_formats_in_a_cluster_are_refused(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let first = cluster::connect(&cluster, "format=escaped").await?;
    take(&first, "a").await?.release().await?;
    for node in cluster.nodes() {
        if node.info("role").await? != "master" {
            continue;
        }
        node.command(&["FLUSHALL"]).await?;
        let second = cluster::connect(&cluster, "format=plain").await;
        let error = second.err().ok_or("it was not refused")?;
        let shown = error.message().unwrap_or_default();
        assert!(shown.contains("format=plain"), "{shown}");
        let again = cluster::connect(&cluster, "format=escaped").await?;
        take(&again, "a").await?.release().await?;
    }
    Ok(())
}

async fn a_format_is_one_of_three(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let error = refused(connect(node.address(), "format=Plain").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    let allowed = "escaped, plain and redisson";
    assert!(error.to_string().contains(allowed), "{error}");
    Ok(())
}

/// The slot is that of the name's own braces, so each key and channel of dlock's own is in it, too.
async fn plain_names_have_the_slot_of_their_own_braces(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let (holder, other) = (
        cluster::connect(&cluster, PLAIN).await?,
        cluster::connect(&cluster, PLAIN).await?,
    );
    for name in NAMES {
        let node = &cluster.nodes()[cluster.owner_of(name).await?];
        let held = take(&holder, name).await?;
        let set = ["SET", name, "theirs", "NX", "PX", "60000"];
        assert_eq!(node.command(&set).await?, Reply::Nil, "{name}");
        held.renew().await?;
        let waiter = tokio::spawn(other.acquire(name).into_future());
        let mut channel = String::new();
        until("it listens", async || {
            let channels = node.command(&["PUBSUB", "SHARDCHANNELS"]).await?.array()?;
            let channels = channels.into_iter().map(Reply::text);
            let channels = channels.collect::<Result<Vec<_>, _>>()?;
            let mut found = channels.into_iter().filter(|channel| is_of(channel, name));
            Ok(found.next().map(|found| channel = found).is_some())
        })
        .await?;
        let slot = async |key: &str| -> Outcome<i64> {
            Ok(node.command(&["CLUSTER", "KEYSLOT", key]).await?.int()?)
        };
        assert_eq!(slot(&channel).await?, slot(name).await?, "{name}");
        let published = calls(node, "spublish").await.unwrap_or_default();
        held.release().await?;
        soon("it is woken", waiter).await???.release().await?;
        assert_eq!(calls(node, "spublish").await?, published + 1, "{name}");
    }
    // Two names in one slot have one counter.
    let (one, two) = (take(&holder, "{s}1").await?, take(&other, "{s}2").await?);
    assert!(two.token() > one.token());
    Ok(())
}

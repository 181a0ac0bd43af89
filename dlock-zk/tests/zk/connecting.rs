//! Messages of connections that fail, and encrypted and authenticated connections (T51, K11).

use std::time::Duration;

use dlock::{ErrorKind, Locker};
use dlock_servers::{
    Port,
    zk::{Ensemble, Java, Node, Options},
};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    End, Fault, Faults, Proxy,
};
use dlock_zk::{ZkConfig, ZkLock};
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    LONG, Outcome, cases, connect, driver, queue, quick, refused, soon, start, take, until,
};

cases![
    t51_a_missing_chroot,
    t51_a_login_without_permission,
    t51_a_chroot_without_permission,
    t51_a_read_only_server,
    t51_a_session_that_is_too_short,
    t51_a_server_that_is_not_there,
    t51_a_server_that_does_not_answer,
    t51_a_server_that_takes_no_more_connections,
    t51_a_connection_that_is_lost_during_the_probe,
    t51_of_several_servers_the_one_that_says_most_is_reported,
    t51_locks_in_a_chroot,
    settings_in_code_connect,
    t51_locks_of_a_login,
    t51_encrypted_connections,
    k11_settings_that_are_not_allowed,
    k10_inspect_reports_the_holder,
    k10_inspect_at_a_server_that_is_behind,
];

async fn t51_a_missing_chroot(java: Java) -> Outcome {
    let node = start(&java).await?;
    let error = refused(dlock::connect(&*format!("zk://{}/team/app", node.address())).await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    let hint = "the chroot /team/app does not exist; create it: zkCli.sh create /team/app";
    assert!(error.to_string().contains(hint), "{error}");
    Ok(())
}

/// A locker in code excludes the client of the URL: both have the same prefix.
async fn settings_in_code_connect(java: Java) -> Outcome {
    let node = start(&java).await?;
    let by_url = connect(node.address(), &format!("{LONG}&prefix=team")).await?;
    let config = ZkConfig::new([node.address()]).prefix("team");
    let locker = Locker::builder(ZkLock::connect(config).await?).build()?;
    let held = take(&by_url, "a").await?;
    assert!(locker.try_acquire("a").await?.is_none());
    held.release().await?;
    Ok(take(&locker, "a").await?.release().await?)
}

async fn t51_locks_in_a_chroot(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    driver.mkdir("/team/app", &options).await?;
    let url = format!("{}/team/app", node.address());
    let locker = connect(url, &format!("{LONG}&prefix=locks/of")).await?;
    let guard = take(&locker, "a/b").await?;
    let nodes = driver.list_children("/team/app/locks/of/a%2Fb").await?;
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    Ok(guard.release().await?)
}

async fn t51_a_login_without_permission(java: Java) -> Outcome {
    let node = start(&java).await?;
    let owner = connect(format!("me:right@{}", node.address()), LONG).await?;
    let held = take(&owner, "a").await?;
    for login in ["", "me:wrong@"] {
        let other = connect(format!("{login}{}", node.address()), LONG).await?;
        let error = refused(other.try_acquire("a").await)?;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(
            error.to_string().contains("user and password in the URL"),
            "{error}"
        );
        assert!(!error.to_string().contains("wrong"), "{error}");
    }
    Ok(held.release().await?)
}

async fn t51_a_chroot_without_permission(java: Java) -> Outcome {
    let node = start(&java).await?;
    let options = CreateMode::Persistent.with_acls(Acls::anyone_read());
    driver(node.address())
        .await?
        .mkdir("/team", &options)
        .await?;
    let locker = connect(format!("{}/team", node.address()), LONG).await?;
    let error = refused(soon("an error", locker.acquire("a")).await?)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    Ok(())
}

async fn t51_locks_of_a_login(java: Java) -> Outcome {
    let node = start(&java).await?;
    let address = format!("me:s%40fe@{}", node.address());
    let (one, two) = (
        connect(&address, LONG).await?,
        connect(&address, LONG).await?,
    );
    let guard = take(&one, "a").await?;
    assert!(two.try_acquire("a").await?.is_none());
    guard.release().await?;
    take(&two, "a").await?.release().await?;
    Ok(())
}

async fn t51_a_read_only_server(java: Java) -> Outcome {
    let mut options = quick();
    options
        .properties
        .push("readonlymode.enabled=true".to_owned());
    let mut ensemble = Ensemble::start(&java, &options).await?;
    for node in [1, 2] {
        ensemble.nodes_mut()[node].kill()?;
    }
    let last = &ensemble.nodes()[0];
    until("it is read-only", async || {
        Ok(last.mode().await.is_ok_and(|mode| mode == "read-only"))
    })
    .await?;
    let error = refused(connect(last.address(), LONG).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("read-only"), "{error}");
    Ok(())
}

async fn t51_a_session_that_is_too_short(java: Java) -> Outcome {
    let node = Node::start(&java, &Options::default()).await?;
    let error = refused(connect(node.address(), "tick=200ms&session=1s&ttl=1s").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(
        error.to_string().contains("give session=6000ms or more"),
        "{error}"
    );
    Ok(())
}

async fn t51_a_server_that_is_not_there(_: Java) -> Outcome {
    let port = Port::reserve()?;
    let error = refused(soon("an error", connect(port.address(), LONG)).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let line = format!(
        "cannot connect to zk at {}: connection refused",
        port.address()
    );
    assert!(error.to_string().starts_with(&line), "{error}");
    Ok(())
}

async fn t51_a_server_that_does_not_answer(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    proxy.set(ToClient, Fault::Hold);
    let keys = format!("{LONG}&connect_timeout=500ms");
    let error = refused(soon("an error", connect(proxy.address(), &keys)).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("no answer in 1s"), "{error}");
    Ok(())
}

/// With the server's two ways to listen, of which one knows TLS.
async fn t51_a_server_that_takes_no_more_connections(java: Java) -> Outcome {
    for has_tls in [false, true] {
        let mut options = Options { has_tls, ..quick() };
        options.lines.push("maxClientCnxns=5".to_owned());
        let node = Node::start(&java, &options).await?;
        let keys = format!("{LONG}&connect_timeout=5s");
        fill(&format!("zk://{}?{keys}", node.address())).await?;
        if let Some((address, certificates)) = node.secure() {
            let (ca, client) = (certificates.ca_in_url(), certificates.client_in_url());
            fill(&format!("zks://{address}?{keys}&{ca}&{client}")).await?;
        }
    }
    Ok(())
}

/// Connects until no more are taken.
async fn fill(url: &str) -> Outcome {
    let mut lockers = Vec::new();
    let error = loop {
        match dlock::connect(url).await {
            Ok(locker) => lockers.push(locker),
            error => break refused(error)?,
        }
        assert!(lockers.len() <= 5, "it takes more");
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let message = error.to_string();
    assert!(message.contains("maxClientCnxns"), "{url}: {error}");
    assert!(!message.contains("TLS"), "{url}: {error}");
    drop(lockers.pop());
    until("a connection is free again", async || {
        Ok(dlock::connect(url).await.is_ok())
    })
    .await
}

async fn t51_of_several_servers_the_one_that_says_most_is_reported(java: Java) -> Outcome {
    let (node, port) = (start(&java).await?, Port::reserve()?);
    let silent = Proxy::start(node.address())?;
    silent.set(ToClient, Fault::Hold);
    let keys = format!("{LONG}&connect_timeout=500ms");
    let (silent, ended) = (silent.address(), port.address());
    for servers in [format!("{silent},{ended}"), format!("{ended},{silent}")] {
        let error = refused(soon("an error", connect(servers, &keys)).await?)?;
        let line = format!("cannot connect to zk at {ended}: connection refused");
        assert!(error.to_string().starts_with(&line), "{error}");
        let all = "(no session from any of 2 servers)";
        assert!(error.to_string().ends_with(all), "{error}");
    }
    Ok(())
}

async fn t51_encrypted_connections(java: Java) -> Outcome {
    let options = Options {
        has_tls: true,
        ..quick()
    };
    let node = Node::start(&java, &options).await?;
    let (address, certificates) = node.secure().ok_or("no TLS")?;
    let trusted = format!("{LONG}&{}", certificates.ca_in_url());
    let known = format!("{trusted}&{}", certificates.client_in_url());
    let url = format!("zks://{address}?{known}");
    let locker = soon("a session over TLS", dlock::connect(&*url)).await??;
    let guard = take(&locker, "a").await?;
    assert_eq!(queue(&driver(node.address()).await?, "a").await?.len(), 1);
    guard.release().await?;
    let quick = "connect_timeout=3s";
    for (url, hint) in [
        (format!("zks://{address}?{trusted}&{quick}"), "tls_cert="),
        (format!("zks://{address}?{LONG}&{quick}"), "tls_ca="),
        (
            format!("zks://{}?{known}&{quick}", node.address()),
            "use zk://",
        ),
        (format!("zk://{address}?{LONG}&{quick}"), "use zks://"),
    ] {
        let error = refused(soon("an error", dlock::connect(&*url)).await?)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{url}: {error}");
        assert!(error.to_string().contains(hint), "{url}: {error}");
    }
    Ok(())
}

async fn k11_settings_that_are_not_allowed(_: Java) -> Outcome {
    for (url, why) in [
        ("zk:", "a server is missing"),
        ("zk://h/a//b", "the chroot is a path"),
        ("zk://h/a/../b", "the chroot is a path"),
        ("zk://h?prefix=%25alive", "prefix is a path"),
        ("zk://h?session=5s", "session 5s is out of range (6s to 1h)"),
        ("zk://h?ttl=999ms", "ttl 999ms is out of range (1s to 1day)"),
        (
            "zk://h?tick=200ms&session=1s&ttl=499ms",
            "ttl 499ms is out of range (500ms to 1day)",
        ),
        ("zk://me@h", "a login is a user and a password"),
        ("zk://h?tls_ca=x", "unknown key"),
        ("zks://h?tls_cert=x", "tls_cert and tls_key go together"),
        ("zks://h?tls_ca=/no/such/file", "cannot read /no/such/file"),
    ] {
        let error = refused(dlock::connect(url).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{url}: {error}");
        assert!(error.to_string().contains(why), "{url}: {error}");
    }
    Ok(())
}

async fn k10_inspect_reports_the_holder(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (one, two) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    assert_eq!(two.inspect("😀/..").await?, None);
    let guard = one.acquire("😀/..").note("checkout 77").await?;
    let holder = two.inspect("😀/..").await?.ok_or("it has no holder")?;
    assert_eq!(holder.attempt, Some(guard.id()));
    assert_eq!(holder.token, Some(guard.token()));
    assert_eq!(holder.pid, Some(std::process::id()));
    assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    Ok(guard.release().await?)
}

async fn k10_inspect_at_a_server_that_is_behind(java: Java) -> Outcome {
    let ensemble = Ensemble::start(&java, &quick()).await?;
    let (leader, behind) = (ensemble.leader().await?, ensemble.follower().await?);
    let (holder, other) = (
        connect(ensemble.nodes()[leader].address(), LONG).await?,
        connect(ensemble.nodes()[behind].address(), LONG).await?,
    );
    take(&holder, "a").await?.release().await?;
    let late = Fault::Delay(Duration::from_millis(300));
    ensemble.link(behind, leader).set(ToClient, late);
    let guard = take(&holder, "a").await?;
    let found = soon("an answer", other.inspect("a")).await??;
    let found = found.ok_or("the holder is not found there")?;
    assert_eq!(found.token, Some(guard.token()));
    guard.release().await?;
    let found = soon("an answer", other.inspect("a")).await??;
    assert!(found.is_none(), "it was released before");
    Ok(())
}

/// The probe of a new session has no answer.
async fn t51_a_connection_that_is_lost_during_the_probe(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let slow = Faults {
        to_client: Fault::Delay(Duration::from_millis(500)),
        ..Faults::default()
    };
    proxy.set_next(slow);
    let address = proxy.address();
    let connecting = tokio::spawn(async move { connect(address, LONG).await });
    // An answer is on its way for longer than this takes. The driver requests a session, then sends a ping.
    for answer in ["a session", "a pong"] {
        let answered = proxy.seen(ToClient);
        until(answer, async || Ok(proxy.seen(ToClient) > answered)).await?;
    }
    let seen = proxy.seen(ToServer);
    until("the probe", async || Ok(proxy.seen(ToServer) > seen)).await?;
    proxy.set_next(Faults::default());
    proxy.end(End::Reset);
    let locker = soon("it is connected", connecting).await???;
    Ok(take(&locker, "a").await?.release().await?)
}

//! The settings of a quorum, and those that are refused before any I/O.

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Config, Registry},
    memory::Memory,
};

use crate::support::refused;

/// A registry with memories, also under the name of another store. As in the program, the schemes of this crate are
/// added twice.
fn registry() -> Registry {
    let registry = Registry::new().register("memory", |_| {
        Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) }))
    });
    let registry = registry.register("redis", |settings| {
        let (hosts, prefix) = (settings.take_hosts(), settings.take_prefix()?);
        assert_eq!(hosts.len(), 1, "{prefix:?}");
        Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) }))
    });
    dlock_layers::register(dlock_layers::register(registry))
}

#[tokio::test]
async fn a_quorum_of_a_url_or_a_file() -> Result<()> {
    let tables = "url = 'quorum:'\nttl = '10s'\nneed = 2\n[[node]]\nurl = 'redis://a'\n\
                  [[node]]\nurl = 'redis://b'\nprefix = 'x'\n[[node]]\nurl = 'memory:'";
    for config in [
        Config::from_url("quorum:?1=memory:&2=memory:&3=memory:&ttl=10s")?,
        Config::from_url("quorum:?1=redis://a&2=redis://b&node_timeout=1s&ttl=10s")?,
        Config::from_url("redis-quorum://a,b,c:1?ttl=10s&need=3&prefix=x")?,
        Config::from_url("rediss-quorum://a,b,c?ttl=10s").map(|_| Config::from_toml(tables))??,
        // As a node has it, if the quorum has none.
        Config::from_url("quorum:?1=memory:%3Fttl%3D10s&2=memory:")?,
    ] {
        let locks = registry().connect(&config).await?;
        let guard = locks.acquire("a").await?;
        assert!(guard.remaining().as_secs() < 10, "{config}");
        guard.release().await?;
    }
    Ok(())
}

/// The URLs of the nodes that cannot be reached are in the error, without their passwords.
#[tokio::test]
async fn nodes_that_cannot_be_reached_are_named() -> Result<()> {
    let registry = registry().register("down", |settings| {
        let _ = (settings.take_hosts(), settings.take_password());
        let refused = || Error::new(ErrorKind::Unavailable, "connection refused");
        Ok(Box::pin(async move { Err(refused()) }))
    });
    let registry = dlock_layers::register(registry);
    let url = "quorum:?1=down://:hunter2%40a&2=memory:&3=down://c&node_timeout=1s";
    let opened = registry.connect(&Config::from_url(url)?).await;
    let text = "1 of 3 nodes can be reached, 2 are needed; not reached: node 1 (down://:***@a), node 3 (down://c); \
                node 1: connection refused";
    assert_eq!(refused(opened, text), ErrorKind::Unavailable);
    Ok(())
}

#[tokio::test]
async fn wrong_settings_are_refused() -> Result<()> {
    let many: String = (1..=51).map(|key| format!("&{key}=memory:")).collect();
    let many = format!("quorum:?{}", &many[1..]);
    for (url, text) in [
        ("quorum:", "the nodes are missing, as in quorum:?1="),
        (
            "quorum:?1=memory:",
            "number of nodes 1 is out of range (2 to 50)",
        ),
        (&many, "number of nodes 51 is out of range (2 to 50)"),
        (
            "quorum:?1=memory:&2=memory:&4=memory:",
            "node 3 is missing, and there is node 4; the keys of the nodes are 1, 2, 3 and so on",
        ),
        (
            "quorum:?1=memory:&2=memory:&nede=2",
            "unknown key \"nede\" (did you mean \"need\"?); known keys: 1 to 50, connect_wait, need, node_timeout, \
             token_base, ttl, wait",
        ),
        (
            "redis-quorum://a,b,c,d?need=2",
            "need=2 of 4 nodes is out of range (3 to 4): fewer could be two holders",
        ),
        ("redis-quorum://a,b,c?need=1", "need=1 of 3 nodes is out of"),
        ("redis-quorum://a,b,c?need=4", "need=4 of 3 nodes is out of"),
        (
            "redis-quorum://a,b,c?need=0",
            "need=0 of 3 nodes is out of range (2 to 3)",
        ),
        (
            "redis-quorum://a,b,c?need=99",
            "need=99 of 3 nodes is out of range (2 to 3)",
        ),
        ("redis-quorum://a,b?node_timeout=1us", "node_timeout"),
        (
            "redis-quorum://a,b?quorum=1",
            "a: unknown key \"quorum\"; known keys: connect_wait, need, node_timeout, prefix, token_base, ttl, wait",
        ),
        (
            "redis-quorum://a,b,A:6379",
            "nodes 1 and 3 are the same, a:6379",
        ),
        (
            "quorum:?1=redis://a&2=redis://a/1",
            "nodes 1 and 2 are the same",
        ),
        (
            "quorum:?1=redis://a%3Ftoken_base%3D7&2=redis://b",
            "token_base belongs to the quorum",
        ),
        (
            "quorum:?1=memory:&2=quorum:",
            "node 2 is a quorum: store, which is made of other stores and cannot be a node",
        ),
        (
            "quorum:?1=redis-quorum://a,b&2=memory:",
            "node 1 is a redis-quorum: store, which is made of other stores",
        ),
        (
            "quorum:?1=migrate:&2=memory:",
            "node 1 is a migrate: store, which is made of other stores",
        ),
        ("quorum:?1=memory:&2=table:", "2: unknown scheme \"table\""),
    ] {
        let opened = registry().connect(&Config::from_url(url)?).await;
        assert_eq!(refused(opened, text), ErrorKind::InvalidConfig, "{url}");
    }
    Ok(())
}

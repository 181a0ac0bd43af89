//! Keys of locks go, or come back.

use std::{io, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_servers::redis::{Node, Reply};
use dlock_verify::{
    chaos::{Fault, Site},
    support::Outcome,
};
use tokio::{sync::Mutex, time::sleep};

/// The prefix of all keys of dlock.
const PREFIX: &str = "dlock:";

/// How often keys are removed while the fault lasts.
const EVERY: Duration = Duration::from_millis(300);

/// The server may use so much memory more before it evicts keys, in bytes.
const MEMORY: u64 = 500_000;

/// How many values fill it, and their size in bytes.
const VALUES: usize = 400;
const VALUE_BYTES: usize = 10_000;

/// A value lives longer than any lock, in milliseconds.
const VALUE_TTL: &str = "600000";

/// The first one evicts locks alone, the nearest end first; the other one evicts the counter and the record, too.
const POLICIES: [&str; 2] = ["volatile-ttl", "allkeys-random"];

/// The database that has a copy.
const OTHER: &str = "1";

pub(in crate::stores) fn all(node: &Arc<Mutex<Node>>) -> Vec<Arc<dyn Fault>> {
    let all = [What::Removed, What::Evicted, What::PutBack];
    let keys = |what| {
        Arc::new(Keys {
            what,
            node: node.clone(),
        }) as _
    };
    all.into_iter().map(keys).collect()
}

struct Keys {
    what: What,
    node: Arc<Mutex<Node>>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// An administrator deletes keys of locks.
    Removed,
    /// The server evicts keys at random.
    Evicted,
    /// Older data come back under the same run of the server.
    PutBack,
}

#[async_trait]
impl Fault for Keys {
    fn id(&self) -> &'static str {
        match self.what {
            What::Removed => "key-removed",
            What::Evicted => "eviction",
            What::PutBack => "put-back",
        }
    }

    fn lengths(&self) -> &'static [u32] {
        match self.what {
            // Shorter than the ttl: the locks of the copy are still there.
            What::PutBack => &[6, 3, 9],
            _ => &[11, 30, 20],
        }
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let node = self.node.lock().await;
        match self.what {
            What::Removed => remove(&node, site).await?,
            What::Evicted => evict(&node, site).await?,
            What::PutBack => put_back(&node, site).await?,
        }
        Ok(0)
    }
}

/// The keys of locks, with what is left of each.
pub(super) async fn locks(node: &Node) -> io::Result<Vec<(String, Duration)>> {
    let mut locks = Vec::new();
    for key in all_keys(node).await? {
        // The others are the counter and the record.
        if !key.contains('{') {
            let left = node.command(&["PTTL", &key]).await?.int()?;
            let left = u64::try_from(left).unwrap_or_default();
            locks.push((key, Duration::from_millis(left)));
        }
    }
    Ok(locks)
}

async fn all_keys(node: &Node) -> io::Result<Vec<String>> {
    let pattern = format!("{PREFIX}*");
    let keys = node.command(&["KEYS", &pattern]).await?.array()?;
    keys.into_iter().map(Reply::text).collect()
}

async fn remove(node: &Node, site: &Site) -> io::Result<()> {
    let times = site.length.as_millis() / EVERY.as_millis() + 1;
    for _ in 0..times {
        for (key, _) in locks(node).await? {
            let removed = node.command(&["DEL", &key]).await?;
            if removed == Reply::Int(1) {
                site.destroyed(key.strip_prefix(PREFIX).unwrap_or(&key));
            }
        }
        sleep(EVERY).await;
    }
    Ok(())
}

async fn evict(node: &Node, site: &Site) -> io::Result<()> {
    let used: u64 = node.info("used_memory").await?.parse().unwrap_or_default();
    let max = (used + MEMORY).to_string();
    set(
        node,
        "maxmemory-policy",
        POLICIES[site.choose(POLICIES.len())],
    )
    .await?;
    set(node, "maxmemory", &max).await?;
    let value = "x".repeat(VALUE_BYTES);
    for number in 0..VALUES {
        let key = format!("flood:{number}");
        node.command(&["SET", &key, &value, "PX", VALUE_TTL])
            .await?;
    }
    site.last().await;
    set(node, "maxmemory", "0").await?;
    set(node, "maxmemory-policy", "noeviction").await?;
    for number in 0..VALUES {
        node.command(&["DEL", &format!("flood:{number}")]).await?;
    }
    Ok(())
}

async fn set(node: &Node, key: &str, value: &str) -> io::Result<()> {
    node.command(&["CONFIG", "SET", key, value]).await.map(drop)
}

async fn put_back(node: &Node, site: &Site) -> io::Result<()> {
    node.commands(&[&["SELECT", OTHER], &["FLUSHDB"]]).await?;
    for key in all_keys(node).await? {
        node.command(&["COPY", &key, &key, "DB", OTHER]).await?;
    }
    site.last().await;
    node.command(&["SWAPDB", "0", OTHER]).await?;
    node.commands(&[&["SELECT", OTHER], &["FLUSHDB"]]).await?;
    Ok(())
}

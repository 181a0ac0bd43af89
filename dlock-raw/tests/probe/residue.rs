//! The traces of locks in each store, found and removed by the locks' names.

use std::{slice::from_ref, time::Duration};

use dlock::{LockName, Locker, config::Config};
use dlock_raw::residue::{Cleared, Kind, Residue};
use dlock_servers::{etcd, mysql, redis, zk};
use dlock_verify::support::take;
use tempfile::TempDir;

use crate::support::{Flavour, Outcome, cases, until};

cases![what_is_left_is_listed_and_removed_by_name];

/// With all that stores escape, and others whose names are close.
const NAMES: [&str; 3] = [
    "dlock-verify/7f3a/seat {1}%",
    "dlock-verify/7f3a",
    "dlock-verify/7f3a/b",
];

/// How long a shutdown may take.
const END_MAX: Duration = Duration::from_secs(5);

/// A store's servers, which end with this, and its URL.
struct Servers {
    url: String,
    _alive: Box<dyn std::any::Any>,
}

async fn start(flavour: Flavour) -> Outcome<Servers> {
    Ok(match flavour {
        Flavour::Etcd(kind) => {
            let node = etcd::Node::start(&kind.find()?, &etcd::Options::default()).await?;
            servers(format!("etcd://{}", node.address()), node)
        }
        Flavour::Files => {
            let directory = TempDir::new()?;
            servers(format!("file:{}", directory.path().display()), directory)
        }
        Flavour::MySql(kind) => {
            let node = mysql::Node::start(kind, &mysql::Options::default()).await?;
            servers(format!("{}?restart_guard=0s", node.url()), node)
        }
        Flavour::Redis(redis::Flavour::RedisStable) => {
            let options = redis::Options::default();
            let cluster = redis::Cluster::start(&flavour.redis()?, &options).await?;
            let address = cluster.addresses()[0];
            servers(
                format!("redis-cluster://{address}?restart_guard=0s"),
                cluster,
            )
        }
        Flavour::Redis(redis::Flavour::RedisNewest) => {
            let options = redis::Options::default();
            let all = redis::Replicated::start(&flavour.redis()?, &options, 1).await?;
            let (hosts, name) = (all.addresses(), all.name());
            let url = format!("redis-sentinel://{}/{name}?restart_guard=0s", hosts[0]);
            servers(url, all)
        }
        Flavour::Redis(_) => {
            let options = redis::Options::default();
            let node = redis::Node::start(&flavour.redis()?, &options).await?;
            servers(format!("redis://{}?restart_guard=0s", node.address()), node)
        }
        Flavour::Zk(kind) => {
            let node = zk::Node::start(&kind.find()?, &zk::Options::default()).await?;
            servers(format!("zk://{}", node.address()), node)
        }
    })
}

fn servers(url: String, alive: impl std::any::Any) -> Servers {
    Servers {
        url,
        _alive: Box::new(alive),
    }
}

/// Whether rows, files or directories outlive their locks in this store.
fn keeps(flavour: Flavour) -> bool {
    matches!(flavour, Flavour::Files | Flavour::MySql(_) | Flavour::Zk(_))
}

async fn what_is_left_is_listed_and_removed_by_name(flavour: Flavour) -> Outcome {
    let servers = start(flavour).await?;
    let config = Config::from_url(&servers.url)?;
    let locker: Locker = dlock::connect(servers.url.as_str()).await?;
    let [first, second, third] = NAMES;
    let first = LockName::new(first)?;
    let second = LockName::new(second)?;
    let third = LockName::new(third)?;
    let residue = Residue::open(&config).await?;
    let all = [first.clone(), second.clone(), third.clone()];
    assert_eq!(residue.list(&all).await?, []);
    // A server that has just been started may grant nothing for a moment.
    let a = locker.acquire(first.as_str()).await?;
    let b = take(&locker, second.as_str()).await?;
    // Exactly the one that was given, though the other one's name is the beginning of it.
    let left = residue.list(from_ref(&first)).await?;
    let locks = left.iter().filter(|left| left.kind == Kind::Lock);
    assert_eq!(locks.count(), 1, "{left:?}");
    assert!(
        left.iter()
            .all(|left| left.name == first && !left.place.is_empty()),
        "{left:?}"
    );
    let left = residue.list(from_ref(&second)).await?;
    assert_eq!(
        left.iter().filter(|left| left.kind == Kind::Lock).count(),
        1,
        "{left:?}"
    );
    assert_eq!(residue.list(from_ref(&third)).await?, []);
    // Without guards nothing is left but what stores keep.
    a.release().await?;
    until("the release is over", async || {
        let left = residue.list(from_ref(&first)).await?;
        Ok(left.iter().all(|left| left.kind == Kind::Kept))
    })
    .await?;
    let kept = residue.list(from_ref(&first)).await?;
    assert_eq!(!kept.is_empty(), keeps(flavour), "{kept:?}");
    assert_eq!(residue.remove(from_ref(&first)).await?, kept);
    assert_eq!(residue.list(from_ref(&first)).await?, []);
    assert!(b.is_held());
    // A lock that is held is removed where that is possible, and others cannot be.
    let removed = residue.remove(from_ref(&second)).await?;
    let can_remove = !matches!(flavour, Flavour::Files | Flavour::MySql(_));
    assert_eq!(!removed.is_empty(), can_remove, "{removed:?}");
    let cleared = residue.clear(&all).await?;
    let expected = if can_remove { (0, 0) } else { (1, 1) };
    assert_eq!((cleared.locks, cleared.stays), expected, "{cleared:?}");
    drop(b);
    locker.shutdown(END_MAX).await?;
    // All names at once: what stores keep is no lock.
    let cleared = residue.clear(&all).await?;
    assert_eq!((cleared.locks, cleared.stays), (0, 0), "{cleared:?}");
    assert_eq!(cleared.removed > 0, !can_remove, "{cleared:?}");
    assert_eq!(residue.list(&all).await?, []);
    assert_eq!(residue.clear(&[]).await?, Cleared::default());
    Ok(())
}

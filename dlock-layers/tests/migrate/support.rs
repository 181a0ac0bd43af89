//! Two stores, and the programs that use them.

use std::time::Duration;

use dlock_core::{
    AttemptId, ErrorKind, Guard, Locker, Result,
    backend::{DistributedLock, Migration, MigrationRecord as _, MigrationStage},
    config::{ConnectFuture, Registry, Settings},
    memory::Memory,
};
use dlock_layers::migrate::{MigrateLock, Steps, Store};

/// Above every token that a test takes from the old store.
pub(crate) const TOKEN_BASE: u64 = 1_000_000;

/// The two stores of a test.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) old: Memory,
    pub(crate) new: Memory,
}

impl Stores {
    pub(crate) fn new() -> Self {
        Self {
            old: Memory::new(),
            new: Memory::new(),
        }
    }

    /// Two stores whose migration is begun.
    pub(crate) async fn started() -> Result<Self> {
        let stores = Self::new();
        stores.steps()?.start().await?;
        Ok(stores)
    }

    pub(crate) fn sides(&self) -> (Store, Store) {
        let old = Store::new(self.old.clone(), 0);
        (old, Store::new(self.new.clone(), TOKEN_BASE))
    }

    pub(crate) fn steps(&self) -> Result<Steps> {
        let (old, new) = self.sides();
        Steps::new(old, new, "redis://db-1", "etcd://etcd-1")
    }

    /// A program that takes both.
    pub(crate) async fn both(&self) -> Result<Locker> {
        let (old, new) = self.sides();
        Locker::builder(MigrateLock::open(old, new).await?).build()
    }

    /// As [`both`](Self::both), so long after its start that its reading of the old store's record is no proof any more.
    pub(crate) async fn both_without_proof(&self) -> Result<Locker> {
        let locks = self.both().await?;
        tokio::time::advance(Migration::READ_VALID).await;
        Ok(locks)
    }

    /// A program that takes the old store alone.
    pub(crate) fn old_alone(&self) -> Result<Locker> {
        Locker::builder(self.old.clone()).build()
    }

    /// A program that takes the new store alone.
    pub(crate) fn new_alone(&self) -> Result<Locker> {
        Locker::builder(self.new.clone())
            .token_base(TOKEN_BASE)
            .build()
    }

    pub(crate) fn are_empty(&self) -> bool {
        self.old.names().is_empty() && self.new.names().is_empty()
    }
}

/// A registry with the two stores, as `old:` and `new:`, and with migrations.
pub(crate) fn registry(stores: &Stores) -> Registry {
    dlock_layers::register(alone(stores))
}

/// A registry with the two stores alone.
pub(crate) fn alone(stores: &Stores) -> Registry {
    let open = |store: &Memory| {
        let store = store.clone();
        move |_: &mut Settings| {
            let store = store.clone();
            let opening: ConnectFuture =
                Box::pin(async move { Ok(Box::new(store) as Box<dyn DistributedLock>) });
            Ok(opening)
        }
    };
    Registry::new()
        .register("old", open(&stores.old))
        .register("new", open(&stores.new))
}

/// An acquire of `a` that waits for up to a minute, in a task of its own.
pub(crate) struct Waiting(tokio::task::JoinHandle<Result<Guard>>);

impl Waiting {
    pub(crate) fn start(locks: &Locker, ttl: Duration) -> Self {
        const WAIT: Duration = Duration::from_secs(60);
        let locks = locks.clone();
        let acquire = async move { locks.acquire("a").ttl(ttl).wait(WAIT).await };
        Self(tokio::spawn(acquire))
    }

    pub(crate) fn is_granted(&self) -> bool {
        self.0.is_finished()
    }

    pub(crate) async fn granted(self) -> Result<Guard> {
        let ended = self.0.await;
        ended.unwrap_or_else(|panic| panic!("the acquire panicked: {panic}"))
    }
}

/// A record as a step writes it.
pub(crate) fn record(stage: MigrationStage, id: AttemptId) -> Migration {
    Migration {
        stage,
        id,
        since_unix_micros: 1,
        by: "1@a".to_owned(),
        other: "etcd://etcd-1".to_owned(),
        token_base: TOKEN_BASE,
        own_base: 0,
    }
}

/// The kind of an error, which has `text` in its line.
pub(crate) fn refused<T>(result: Result<T>, text: &str) -> ErrorKind {
    let Err(error) = result else {
        panic!("nothing was refused, expected was {text:?}")
    };
    assert!(error.to_string().contains(text), "{error}");
    error.kind()
}

/// Makes `record` the one of `store`.
pub(crate) async fn set(store: &Memory, record: &Migration) -> Result<()> {
    let before = store.read().await?;
    let is_set = store
        .compare_and_set(before.as_deref(), &record.to_string())
        .await?;
    assert!(is_set);
    Ok(())
}

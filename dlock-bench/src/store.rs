//! A store that is connected, and what all workloads need of it.

use std::{sync::Arc, time::Duration};

use dlock::config::Config;
use dlock_core::{Error, ErrorKind, Locker, Result};
use dlock_raw::{
    backend,
    baseline::{self, Floor, Found, Server},
};
use tokio::time::timeout;

use crate::{
    data,
    machine::server_of,
    names::Names,
    sweep::Sweep,
    target::{Target, WorkerCommand},
};

/// How long a store may take to connect and to grant a first lock, beyond its restart guard.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// How long a store may take to take a lock, and to free it, after something failed.
const CHECK_MAX: Duration = Duration::from_secs(10);

/// How long the locker may take to end after the run.
const SHUTDOWN_MAX: Duration = Duration::from_secs(10);

/// How long removing what is left may take: all of it, and each name.
const REMOVE_MAX: Duration = Duration::from_secs(60);
const REMOVE_EACH_MAX: Duration = Duration::from_millis(20);

/// The ports of servers whose URL has none, by backend.
const PORTS: [(&str, u16); 4] = [
    ("etcd", 2379),
    ("mysql", 3306),
    ("redis", 6379),
    ("zk", 2181),
];

/// A store of the run.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) config: Config,
    pub(crate) worker: WorkerCommand,
    pub(crate) locks: Locker,
    pub(crate) floor: Option<Arc<dyn Floor>>,
    pub(crate) names: Names,
    /// The process of the server, if it is on this machine.
    pub(crate) pid: Option<u32>,
}

impl Store {
    /// Connects dlock and the driver of the floor, takes a first lock, and describes the store.
    ///
    /// # Errors
    ///
    /// The errors of the store.
    pub(crate) async fn connect(target: &Target, names: Names) -> Result<(Self, data::Store)> {
        let locks = timeout(CONNECT_MAX, target.registry.connect(&target.config)).await;
        let locks = locks.map_err(|_| no_answer())??;
        let wait = CONNECT_MAX.saturating_add(locks.capabilities().restart_guard);
        let first = locks.acquire(names.make("first")).wait(wait).await?;
        first.release().await?;
        let found = timeout(CONNECT_MAX, baseline::open(&target.config)).await;
        let Found { floor, note, .. } = found.map_err(|_| no_answer())??;
        let store = Self {
            config: target.config.clone(),
            worker: target.worker.clone(),
            pid: target.pid.or_else(|| listening(&target.config)),
            floor: floor.map(Arc::from),
            locks,
            names,
        };
        let mut data = described(&target.config);
        data.notes.extend(note.map(str::to_owned));
        let floor = store.floor.as_deref();
        data.floor = floor.map(|floor| floor.what().to_owned());
        data.floor_of_new_names = floor.map(|floor| floor.what_new().to_owned());
        let own_lock = floor.and_then(Floor::own_lock);
        data.own_lock = own_lock.map(|lock| lock.what().to_owned());
        if let Some(server) = store.server() {
            data.server = server.version().await?;
        }
        Ok((store, data))
    }

    /// Takes and frees a lock, to see whether the store is there.
    ///
    /// # Errors
    ///
    /// The errors of the store.
    ///
    /// # Cancel safety
    ///
    /// The lock may be held until its ttl.
    pub(crate) async fn check(&self) -> Result<()> {
        let taken = timeout(CHECK_MAX, self.locks.acquire(self.names.make("check"))).await;
        let late = || no_answer_within(CHECK_MAX);
        timeout(CHECK_MAX, taken.map_err(|_| late())??.release())
            .await
            .map_err(|_| late())?
    }

    /// The server, if the store has one and its driver was opened.
    pub(crate) fn server(&self) -> Option<&dyn Server> {
        self.floor.as_deref().and_then(Floor::server)
    }

    /// Ends the locker, with all that is held, and what the driver keeps alive in the store.
    ///
    /// # Errors
    ///
    /// What the driver says.
    ///
    /// # Cancel safety
    ///
    /// The rest stays in the store until its ttl.
    async fn close(&self) -> Result<()> {
        // What is not released by then is removed by its name.
        let _ = self.locks.clone().shutdown(SHUTDOWN_MAX).await;
        match &self.floor {
            Some(floor) => floor.close().await,
            None => Ok(()),
        }
    }
}

/// Why locks of a run may still be in a store.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "there is no third case")]
pub enum Left {
    /// The store does not say whether any are there.
    Unknown(Error),
    /// Some are there.
    Some(Error),
}

/// Ends the store, if it was connected, and removes what the `names` left in it.
///
/// # Errors
///
/// That some of it is left, or that it is not known.
///
/// # Cancel safety
///
/// The rest stays in the store.
pub(crate) async fn clean_up(
    config: &Config,
    names: &Names,
    store: Option<&Store>,
) -> Result<(), Left> {
    // An aborted task may use one more name before it ends.
    let _ = timeout(REMOVE_MAX, names.unused()).await;
    let names = names.all();
    let each = REMOVE_EACH_MAX.saturating_mul(u32::try_from(names.len()).unwrap_or(u32::MAX));
    let mut left = 0;
    let removing = async {
        let closed = match store {
            Some(store) => store.close().await,
            None => Ok(()),
        };
        // Either the store was never reached, or nothing is known about how it keeps locks.
        if !names.is_empty() && Sweep::can_list(config) {
            let floor = store.and_then(|store| store.floor.clone());
            let sweep = Sweep::open(config, floor).await?;
            sweep.remove(&names, &mut left).await?;
            let unreached = sweep.unreached();
            sweep.close().await;
            unreached.map_or(Ok(()), Err)?;
        }
        closed
    };
    let removed = timeout(REMOVE_MAX.max(each), removing).await;
    let late = || Error::new(ErrorKind::Unavailable, "no end in time");
    let removed = removed.unwrap_or_else(|_| Err(late()));
    removed.map_err(|error| match left == 0 {
        true => Left::Unknown(error),
        false => Left::Some(error),
    })
}

/// The data of a store of which nothing is known yet.
pub(crate) fn described(config: &Config) -> data::Store {
    let scheme = config.url().scheme();
    data::Store {
        label: String::new(),
        url: config.to_string(),
        backend: backend(scheme).unwrap_or(scheme).to_owned(),
        ..data::Store::default()
    }
}

fn listening(config: &Config) -> Option<u32> {
    let url = config.url();
    let [host] = url.hosts() else {
        return None;
    };
    let name = backend(url.scheme());
    let default = PORTS.iter().find(|(backend, _)| name == Some(backend));
    let port = host.port.or_else(|| default.map(|(_, port)| *port))?;
    server_of(&host.name, port)
}

fn no_answer() -> Error {
    no_answer_within(CONNECT_MAX)
}

/// A store that did not answer in time.
pub(crate) fn no_answer_within(max: Duration) -> Error {
    let why = format!("the store did not answer within {} s", max.as_secs());
    Error::new(ErrorKind::Unavailable, why)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use dlock_core::LockName;
    use dlock_raw::residue::Residue;
    use tokio::time::pause;

    use super::*;

    fn of_files(folder: &Path) -> Config {
        Config::from_url(&format!("file:{}", folder.display())).expect("config")
    }

    #[tokio::test]
    async fn what_is_held_is_known_to_be_left_until_it_is_free() {
        let folder = tempfile::tempdir().expect("directory");
        let (config, names) = (of_files(folder.path()), Names::new("7f3a"));
        let [first, second] = ["first", "second"].map(|what| names.make(what));
        let locks = dlock::connect(config.clone()).await.expect("locks");
        locks
            .acquire(first)
            .await
            .expect("lock")
            .release()
            .await
            .expect("free");
        let held = locks.acquire(second).await.expect("lock");
        // The bound passes at once.
        pause();
        let left = clean_up(&config, &names, None).await;
        assert!(matches!(left, Err(Left::Some(_))), "{left:?}");
        held.release().await.expect("free");
        clean_up(&config, &names, None).await.expect("cleaned");
        let traces = Residue::open(&config).await.expect("store");
        let names = names.all().into_iter();
        let names: Vec<LockName> = names
            .map(|name| LockName::new(&name).expect("name"))
            .collect();
        assert_eq!(traces.list(&names).await.expect("traces"), []);
    }

    #[tokio::test]
    async fn names_used_once_are_removed_too() {
        let folder = tempfile::tempdir().expect("directory");
        let (config, names) = (of_files(folder.path()), Names::new("7f3a"));
        let locks = dlock::connect(config.clone()).await.expect("locks");
        let numbered = names.numbered("once", 2);
        // More than fit into one batch.
        for _ in 0..100 {
            for names in &numbered {
                let guard = locks.acquire(names.next()).await.expect("lock");
                guard.release().await.expect("free");
            }
        }
        let files = || {
            std::fs::read_dir(folder.path())
                .expect("a directory")
                .count()
        };
        assert!(files() > 200);
        drop(numbered);
        clean_up(&config, &names, None).await.expect("cleaned");
        // The layout.
        assert_eq!(files(), 1);
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_listed_may_have_some_left() {
        let (config, names) = (of_files(Path::new("/dev/null/locks")), Names::new("7f3a"));
        names.make("first");
        let left = clean_up(&config, &names, None).await;
        assert!(matches!(left, Err(Left::Unknown(_))), "{left:?}");
    }
}

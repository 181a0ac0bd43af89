//! `mysql:` on each server that speaks it.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use conformance_tests::{
    Backdoor, Reach, Target,
    servers::mysql::{Flavour, Node, Options},
};
use dlock_core::{
    Capabilities, DistributedLock, Error, ErrorKind, LockName, Result, config::Config,
};
use dlock_mysql::MySqlLock;
use tokio::sync::{Mutex, OnceCell};

/// MariaDB shows its locks as they were when nobody had looked for a tenth of a second.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// The server grants nothing for so long after its start.
const BOOT_GUARD: Duration = Duration::from_secs(2);

/// One server for all cases; each has a prefix of its own.
#[derive(Debug)]
pub(super) struct MySqlTarget {
    flavour: Flavour,
    /// Started by the first case that needs it: workers use that of their parent.
    node: OnceCell<Node>,
    cases: AtomicU64,
    /// One case at a time looks at locks, or each would keep what the others see from getting new.
    looking: Mutex<()>,
}

impl MySqlTarget {
    pub(super) fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            node: OnceCell::new(),
            cases: AtomicU64::new(0),
            looking: Mutex::default(),
        }
    }

    async fn node(&self) -> Result<&Node> {
        let start = || async {
            let node = Node::start(self.flavour, &Options::default()).await?;
            tokio::time::sleep(BOOT_GUARD).await;
            Ok(node)
        };
        self.node.get_or_try_init(start).await.map_err(broken)
    }

    async fn ask(&self, sql: &str) -> Result<Vec<Vec<String>>> {
        self.node().await?.ask(sql).await.map_err(broken)
    }
}

/// The prefix of an address.
fn prefix(address: &str) -> &str {
    let (_, prefix) = address.split_once("prefix=").unwrap_or_default();
    prefix
}

#[async_trait]
impl Target for MySqlTarget {
    fn name(&self) -> &str {
        self.flavour.name()
    }

    fn capabilities(&self) -> Capabilities {
        MySqlLock::CAPABILITIES
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    async fn address(&self) -> Result<String> {
        let url = self.node().await?.url();
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        Ok(format!("{url}?prefix=case-{case}:"))
    }

    async fn connect(&self, address: &str) -> Result<Arc<dyn DistributedLock>> {
        let config = Config::from_url(address)?;
        dlock::registry()
            .open(&config)
            .await
            .map(|(backend, _)| backend)
    }

    fn reach(&self) -> Reach {
        Reach::Processes
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }
}

#[async_trait]
impl Backdoor for MySqlTarget {
    /// Ends the session that holds the row.
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        let row = [prefix(address), name.as_str()].concat();
        for session in self.holders(&row).await? {
            self.ask(&format!("KILL {session}")).await?;
            // Its socket is closed before its lock is gone.
            let look = format!("SELECT 1 FROM information_schema.processlist WHERE id = {session}");
            while !self.ask(&look).await?.is_empty() {}
        }
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let prefix = prefix(address);
        let locked = format!(
            "SELECT CONVERT(name USING utf8mb4) FROM locks.dlock_locks WHERE name LIKE '{prefix}%'; \
             SELECT 'asked', name FROM locks.dlock_asked WHERE name LIKE '{prefix}%'"
        );
        let mut left = Vec::new();
        let free = format!(
            "SELECT CONVERT(name USING utf8mb4) FROM locks.dlock_locks WHERE name LIKE '{prefix}%' FOR \
             UPDATE SKIP LOCKED"
        );
        let free = self.ask(&free).await?;
        for row in self.ask(&locked).await? {
            if !free.contains(&row) {
                left.push(row.join(" "));
            }
        }
        Ok(left)
    }
}

impl MySqlTarget {
    /// The sessions that have the row locked, by what the server shows of its locks.
    async fn holders(&self, row: &str) -> Result<Vec<String>> {
        // A row of the primary key is shown as its value, or in hexadecimal digits.
        let hex: String = row.bytes().map(|byte| format!("{byte:02X}")).collect();
        let sql = match self.flavour {
            Flavour::MySqlNewest => format!(
                "SELECT t.processlist_id FROM performance_schema.data_locks l JOIN \
                 performance_schema.threads t USING (thread_id) WHERE l.lock_type = 'RECORD' AND \
                 l.lock_status = 'GRANTED' AND l.lock_data = '0x{hex}'"
            ),
            _ => return self.blockers(&hex).await,
        };
        let rows = self.ask(&sql).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// MariaDB shows only locks that somebody waits for.
    async fn blockers(&self, hex: &str) -> Result<Vec<String>> {
        let node = self.node().await?;
        let _turn = self.looking.lock().await;
        let wait = format!(
            "SET SESSION innodb_lock_wait_timeout = 2; SELECT 1 FROM locks.dlock_locks WHERE name = \
             x'{hex}' FOR UPDATE"
        );
        let waiting = node.ask(&wait);
        let looking = async {
            loop {
                let sql = format!(
                    "SELECT b.trx_mysql_thread_id FROM information_schema.innodb_lock_waits w JOIN \
                     information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id JOIN \
                     information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id WHERE \
                     r.trx_query LIKE '%{hex}%'"
                );
                let rows = node.ask(&sql).await.map_err(broken)?;
                if !rows.is_empty() {
                    return Ok(rows.into_iter().flatten().collect());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            found = looking => found,
            // Nobody has it locked.
            _ = waiting => Ok(Vec::new()),
        }
    }
}

fn broken(source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the test's server").with_source(source)
}

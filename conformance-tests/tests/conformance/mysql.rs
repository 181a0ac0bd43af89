//! `mysql:` on each server that speaks it.

use std::{io, net::SocketAddr, time::Duration};

use async_trait::async_trait;
use conformance_tests::Extra;
use dlock_core::{Capabilities, LockName, Result};
use dlock_mysql::MySqlLock;
use dlock_servers::mysql::{Flavour, Node, Options};
use tokio::sync::Mutex;

use crate::store::{Store, broken};

/// MariaDB caches its view of locks until it is not read for a tenth of a second.
const POLL_EVERY: Duration = Duration::from_millis(150);

/// The server grants nothing for so long after its start.
const BOOT_GUARD: Duration = Duration::from_secs(2);

/// As long as the longest ttl of a case.
const RESTART_GUARD: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct MySql {
    flavour: Flavour,
    /// One case at a time reads the locks, or each would keep the cached view alive.
    reading: Mutex<()>,
}

#[async_trait]
impl Store for MySql {
    type Servers = Node;

    fn name(&self) -> &str {
        self.flavour.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            restart_guard: RESTART_GUARD,
            ..MySqlLock::CAPABILITIES
        }
    }

    fn available(&self) -> Result<(), String> {
        self.flavour.find().map(drop)
    }

    /// A lock is a session's, so to remove it is to end the session.
    fn extras(&self) -> &[Extra] {
        &[
            Extra::Link,
            Extra::DataLoss,
            Extra::SafeDataLoss,
            Extra::FailOver,
        ]
    }

    async fn start(&self) -> io::Result<Node> {
        let node = Node::start(self.flavour, &Options::default()).await?;
        tokio::time::sleep(BOOT_GUARD).await;
        Ok(node)
    }

    fn url(&self, node: &Node, prefix: &str) -> String {
        self.url_at(node, node.address(), prefix)
    }

    fn server(&self, node: &Node) -> Option<SocketAddr> {
        Some(node.address())
    }

    fn url_at(&self, node: &Node, address: SocketAddr, prefix: &str) -> String {
        let (url, guard) = (node.url_at(address), RESTART_GUARD.as_secs());
        format!("{url}?restart_guard={guard}s&prefix={prefix}")
    }

    fn separator(&self) -> &'static str {
        ":"
    }

    /// Ends the session that holds the row.
    async fn remove(&self, node: &Node, prefix: &str, name: &LockName) -> Result<()> {
        let row = [prefix, name.as_str()].concat();
        for session in self.holders(node, &row).await? {
            query(node, &format!("KILL {session}")).await?;
            // Its socket is closed before its lock is gone.
            let find = format!("SELECT 1 FROM information_schema.processlist WHERE id = {session}");
            while !query(node, &find).await?.is_empty() {}
        }
        Ok(())
    }

    async fn residue(&self, node: &Node, prefix: &str) -> Result<Vec<String>> {
        let locked = format!(
            "SELECT CONVERT(name USING utf8mb4) FROM locks.dlock_locks WHERE name LIKE '{prefix}%'; \
             SELECT 'question', name FROM locks.dlock_asked WHERE name LIKE '{prefix}%'"
        );
        let mut left = Vec::new();
        let free = format!(
            "SELECT CONVERT(name USING utf8mb4) FROM locks.dlock_locks WHERE name LIKE '{prefix}%' FOR \
             UPDATE SKIP LOCKED"
        );
        let free = query(node, &free).await?;
        for row in query(node, &locked).await? {
            if !free.contains(&row) {
                left.push(row.join(" "));
            }
        }
        Ok(left)
    }

    /// A lock is a session's, and sessions end with the server.
    async fn lose_data(&self, node: &mut Node, _: &str) -> Result<()> {
        node.restart().await.map_err(broken)
    }

    async fn fail_over(&self, node: &mut Node, _: &str, _: &LockName) -> Result<()> {
        node.restart().await.map_err(broken)
    }
}

impl MySql {
    pub(super) fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            reading: Mutex::default(),
        }
    }

    /// The sessions that have the row locked, by what the server shows of its locks.
    async fn holders(&self, node: &Node, row: &str) -> Result<Vec<String>> {
        // A row of the primary key is shown as its value, or in hexadecimal digits.
        let hex: String = row.bytes().map(|byte| format!("{byte:02X}")).collect();
        let sql = match self.flavour {
            Flavour::MySqlNewest => format!(
                "SELECT t.processlist_id FROM performance_schema.data_locks l JOIN \
                 performance_schema.threads t USING (thread_id) WHERE l.lock_type = 'RECORD' AND \
                 l.lock_status = 'GRANTED' AND l.lock_data = '0x{hex}'"
            ),
            _ => return self.blockers(node, &hex).await,
        };
        let rows = query(node, &sql).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// MariaDB shows only locks that have a waiter.
    async fn blockers(&self, node: &Node, hex: &str) -> Result<Vec<String>> {
        let _turn = self.reading.lock().await;
        let wait = format!(
            "SET SESSION innodb_lock_wait_timeout = 2; SELECT 1 FROM locks.dlock_locks WHERE name = \
             x'{hex}' FOR UPDATE"
        );
        let waiting = node.query(&wait);
        let finding = async {
            loop {
                let sql = format!(
                    "SELECT b.trx_mysql_thread_id FROM information_schema.innodb_lock_waits w JOIN \
                     information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id JOIN \
                     information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id WHERE \
                     r.trx_query LIKE '%{hex}%'"
                );
                let rows = query(node, &sql).await?;
                if !rows.is_empty() {
                    return Ok(rows.into_iter().flatten().collect());
                }
                tokio::time::sleep(POLL_EVERY).await;
            }
        };
        tokio::select! {
            found = finding => found,
            // No session has it locked.
            _ = waiting => Ok(Vec::new()),
        }
    }
}

async fn query(node: &Node, sql: &str) -> Result<Vec<Vec<String>>> {
    node.query(sql).await.map_err(broken)
}

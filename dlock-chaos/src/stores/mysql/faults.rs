//! The faults that only MySQL and MariaDB have: what their administrator does.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::Clock;
use dlock_servers::mysql::Node;
use dlock_verify::{
    chaos::{Evidence, Fault, Site},
    support::{Outcome, within},
};
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};

/// Sessions that hold a row, and sessions that wait for one. The server's own transactions have no number.
const HOLDERS: &str = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'RUNNING' \
                       AND trx_rows_locked > 0 AND trx_mysql_thread_id > 0";
const WAITERS: &str =
    "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";

/// How many connections the server has refused because there were too many.
const REFUSED: &str = "SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'";

/// A server that is stopped gives no answer.
const AT_ONCE_MAX: Duration = Duration::from_secs(1);

/// A session that can be killed is awaited for so long.
const BITES_MAX: Duration = Duration::from_secs(20);

/// The pause before another try to kill a session.
const AGAIN_EVERY: Duration = Duration::from_millis(100);

/// The same for a few requests, one after another.
const SOON_MAX: Duration = Duration::from_secs(3);

/// Another fault ends within this.
const UNDONE_MAX: Duration = Duration::from_secs(60);

/// The least that both servers take, and what they have otherwise.
const FEW: u32 = 10;
const MANY: u32 = 2_000;

pub(super) fn all(node: &Arc<Mutex<Node>>) -> Vec<Arc<dyn Fault>> {
    use What::{Alter, FewConnections, Flush, KillConnection, KillQuery, ReadLock, ReadOnly};
    let all = [
        KillConnection,
        KillQuery,
        ReadOnly,
        Flush,
        ReadLock,
        FewConnections,
        Alter,
    ];
    let all = all.into_iter().map(|what| {
        let node = node.clone();
        Arc::new(AdminFault { what, node }) as _
    });
    all.collect()
}

struct AdminFault {
    what: What,
    node: Arc<Mutex<Node>>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The session of a holder is killed.
    KillConnection,
    /// The statements of all waiters are killed.
    KillQuery,
    ReadOnly,
    Flush,
    /// As a backup does.
    ReadLock,
    FewConnections,
    /// A change of the table of all locks.
    Alter,
}

#[async_trait]
impl Fault for AdminFault {
    fn id(&self) -> &'static str {
        match self.what {
            What::KillConnection => "connection-killed",
            What::KillQuery => "query-killed",
            What::ReadOnly => "read-only",
            What::Flush => "flush-tables",
            What::ReadLock => "read-lock",
            What::FewConnections => "max-connections",
            What::Alter => "table-altered",
        }
    }

    /// Some last as long as one request of the administrator, who waits for 10 s.
    fn lengths(&self) -> &'static [u32] {
        match self.what {
            What::ReadLock | What::FewConnections => &[15, 9],
            _ => &[11, 2, 20, 9],
        }
    }

    fn evidence(&self) -> Evidence {
        match self.what {
            What::KillConnection | What::KillQuery | What::Flush => Evidence::Own,
            _ => Evidence::Clients,
        }
    }

    /// A fault of several requests needs the server all the time.
    fn alone(&self) -> bool {
        matches!(
            self.what,
            What::ReadLock | What::FewConnections | What::Alter | What::KillConnection
        )
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let (node, seconds) = (self.node.lock().await, site.length.as_secs_f32());
        match self.what {
            What::KillConnection | What::KillQuery | What::Flush => {
                drop(node);
                Ok(self.once(site).await)
            }
            What::ReadOnly => {
                let begun = at_once(&node, "SET GLOBAL read_only = 1").await;
                drop(node);
                site.last().await;
                self.writable_again().await?;
                Ok(begun.is_some().into())
            }
            What::ReadLock => {
                let sql = format!("FLUSH TABLES WITH READ LOCK; SELECT SLEEP({seconds})");
                node.query(&sql).await?;
                Ok(0)
            }
            What::FewConnections => {
                let before = refused(&node).await?;
                // In one session: another one could not connect.
                let sql = format!(
                    "SET GLOBAL max_connections = {FEW}; SELECT SLEEP({seconds}); SET GLOBAL \
                     max_connections = {MANY}"
                );
                node.query(&sql).await?;
                Ok(refused(&node).await? - before)
            }
            What::Alter => {
                let sql = "SET SESSION lock_wait_timeout = 4; ALTER TABLE locks.dlock_locks FORCE";
                // It waits for all holders, and gives up.
                Ok(node.query(sql).await.is_ok().into())
            }
        }
    }
}

impl AdminFault {
    /// Until there is a session that it bites. Another fault may be on, or the guard of a start.
    async fn once(&self, site: &Site) -> u64 {
        let clock = Clock::boottime();
        let end = clock.now().after(BITES_MAX);
        loop {
            let node = self.node.lock().await;
            let bit = match self.what {
                What::KillConnection => kill_holder(&node, site).await,
                What::KillQuery => kill_waiters(&node).await,
                _ => at_once(&node, "FLUSH TABLES").await.is_some().into(),
            };
            drop(node);
            if bit > 0 || clock.now() >= end {
                return bit;
            }
            sleep(AGAIN_EVERY).await;
        }
    }

    /// Another fault may have stopped the server, or ended it: then it starts writable.
    async fn writable_again(&self) -> Outcome {
        let writable = async {
            loop {
                let node = self.node.lock().await;
                // A statement of before may still wait to make it read-only.
                let is_writable = timeout(SOON_MAX, node.try_make_writable()).await;
                if matches!(is_writable, Ok(Ok(true))) {
                    return;
                }
                drop(node);
                sleep(AGAIN_EVERY).await;
            }
        };
        within(UNDONE_MAX, "the server is writable again", writable).await
    }
}

/// How many sessions of holders were killed: one, or none.
async fn kill_holder(node: &Node, site: &Site) -> u64 {
    let holders = at_once(node, HOLDERS).await.unwrap_or_default().concat();
    if holders.is_empty() {
        return 0;
    }
    let holder = &holders[site.choose(holders.len())];
    // It may have ended by itself.
    at_once(node, &format!("KILL {holder}"))
        .await
        .is_some()
        .into()
}

/// How many waiters there were whose statements could be killed.
async fn kill_waiters(node: &Node) -> u64 {
    let mut killed = 0;
    for waiter in at_once(node, WAITERS).await.unwrap_or_default().concat() {
        let gone = at_once(node, &format!("KILL QUERY {waiter}")).await;
        killed += u64::from(gone.is_some());
    }
    killed
}

/// The answer of a server that another fault may have stopped or ended.
async fn at_once(node: &Node, sql: &str) -> Option<Vec<Vec<String>>> {
    timeout(AT_ONCE_MAX, node.query(sql)).await.ok()?.ok()
}

async fn refused(node: &Node) -> Outcome<u64> {
    let rows = node.query(REFUSED).await?;
    let count = rows.first().and_then(|row| row.get(1));
    Ok(count
        .and_then(|count| count.parse().ok())
        .unwrap_or_default())
}

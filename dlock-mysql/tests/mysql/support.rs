//! Shared parts of the cases: a server of their own, clients of it, and bounds.

use std::{future::Future, time::Duration};

use dlock::{Acquire, Guard, Locker};
use dlock_servers::mysql::{Node, Options};
use dlock_verify::{
    proxy::{Fault, Proxy},
    support,
};
use libtest_mimic::Failed;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, MySqlConnection,
    mysql::{MySqlConnectOptions, MySqlSslMode},
    raw_sql,
};
use tokio::task::JoinHandle;

pub(crate) use dlock_servers::mysql::Flavour;
pub(crate) use dlock_verify::{
    cases,
    support::{Outcome, SOON, soon, until, within},
};

/// A ttl that no case lives to see the end of: what is free before it was not freed by time.
pub(crate) const TTL_LONG: Duration = Duration::from_secs(120);

/// The shortest: no server remembers to wait for it for long.
const TTL_SHORT: Duration = Duration::from_secs(1);

/// A grant reads the row of the epoch again if the last reading is older.
pub(crate) const EPOCH_FRESH: Duration = Duration::from_millis(500);

/// The bound of a case: one that hangs is named by its failure.
const CASE_MAX: Duration = Duration::from_secs(100);

pub(crate) fn run<F>(flavour: Flavour, case: impl FnOnce(Flavour) -> F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    support::run(CASE_MAX, case(flavour))
}

/// A server that grants: it does not in its first two seconds.
pub(crate) async fn start(flavour: Flavour) -> Outcome<Node> {
    start_with(flavour, &Options::default()).await
}

pub(crate) async fn start_with(flavour: Flavour, options: &Options) -> Outcome<Node> {
    let node = Node::start(flavour, options).await?;
    until_granting(&node).await?;
    Ok(node)
}

/// Waits until the server grants.
pub(crate) async fn until_granting(node: &Node) -> Outcome {
    let locker = open(&node.url(), TTL_SHORT).await?;
    until("it grants", async || {
        match locker.try_acquire("until granting").await {
            Ok(Some(guard)) => guard.release().await.map(|()| true).map_err(Failed::from),
            Ok(None) => Ok(false),
            Err(error) if error.kind() == dlock::ErrorKind::Unavailable => Ok(false),
            Err(error) => Err(error.into()),
        }
    })
    .await?;
    Ok(locker.shutdown(SOON).await?)
}

/// A locker that waits for no holds of before a start of the server.
pub(crate) async fn open(url: &str, ttl: Duration) -> dlock::Result<Locker> {
    let ttl = ttl.as_secs();
    open_with(url, &format!("restart_guard=0s&ttl={ttl}s")).await
}

pub(crate) async fn open_with(url: &str, keys: &str) -> dlock::Result<Locker> {
    let mark = if url.contains('?') { '&' } else { '?' };
    dlock::connect(&*format!("{url}{mark}{keys}")).await
}

/// Stops the traffic in both directions, without an error at either end.
pub(crate) fn cut_off(proxy: &Proxy) {
    proxy.set_both(Fault::Hold);
}

/// Starts an acquire of a lock that is held. Returns when `count` acquires wait in the queue of the server, this one
/// included.
pub(crate) async fn queued(
    node: &Node,
    acquire: Acquire,
    count: usize,
) -> Outcome<JoinHandle<dlock::Result<Guard>>> {
    let waiter = tokio::spawn(acquire.into_future());
    until("it waits", async || Ok(waiting(node).await? == count)).await?;
    Ok(waiter)
}

pub(crate) async fn take(locker: &Locker, name: &str) -> Outcome<Guard> {
    Ok(soon("it is granted", locker.acquire(name).wait(SOON)).await??)
}

/// How many statements wait for a row.
pub(crate) async fn waiting(node: &Node) -> Outcome<usize> {
    // The question itself has the words, too.
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%FOR UPDATE%' \
               AND info NOT LIKE '%processlist%'";
    let rows = node.query(sql).await?;
    let count = rows.first().and_then(|row| row.first());
    Ok(count.ok_or("no count")?.parse()?)
}

/// The server refreshes its list of transactions only after a tenth of a second without a query of it.
const TRANSACTIONS_NEW: Duration = Duration::from_millis(150);

/// The session that holds the one lock that is held.
pub(crate) async fn holder(node: &Node) -> Outcome<String> {
    let mut holders = Vec::new();
    until("one session holds", async || {
        tokio::time::sleep(TRANSACTIONS_NEW).await;
        let sql = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = \
                   'RUNNING' AND trx_rows_locked > 0";
        holders = node.query(sql).await?.into_iter().flatten().collect();
        Ok(holders.len() == 1)
    })
    .await?;
    holders.pop().ok_or_else(|| "no session holds".into())
}

/// Makes `locker`, the only one of its server, open all connections that it needs. The order is: the one for
/// tables, the one that holds a lock, the one that controls sessions. The second one is idle then.
pub(crate) async fn warm(node: &Node, locker: &Locker) -> Outcome {
    let held = take(locker, "warm").await?;
    until("its session is monitored", async || {
        Ok(sessions(node).await?.len() >= 3)
    })
    .await?;
    Ok(held.release().await?)
}

/// How often a connection is used until its statements are prepared.
pub(crate) const UNTIL_PREPARED: usize = 3;

/// Which connection of a locker holds its first lock, as [`warm`] counts them.
pub(crate) const HOLDING_CONNECTION: usize = 1;

/// A session of the administrator, who may do everything.
pub(crate) async fn root(node: &Node) -> Outcome<MySqlConnection> {
    let options = MySqlConnectOptions::new()
        .socket(node.socket())
        .ssl_mode(MySqlSslMode::Disabled)
        .username("root")
        .database("locks");
    Ok(options.connect().await?)
}

/// Sends statements on it.
pub(crate) async fn execute(session: &mut MySqlConnection, sql: &str) -> Outcome {
    raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(session)
        .await?;
    Ok(())
}

/// The sessions of the user of the locks.
pub(crate) async fn sessions(node: &Node) -> Outcome<Vec<String>> {
    let sql = "SELECT id FROM information_schema.processlist WHERE user = 'app'";
    Ok(node.query(sql).await?.into_iter().flatten().collect())
}

/// Ends a session. One that has ended by itself since it was listed is no error.
pub(crate) async fn end_session(node: &Node, session: &str) -> Outcome {
    match node.query(&format!("KILL {session}")).await {
        Err(error) if !error.to_string().contains("Unknown thread id") => Err(error.into()),
        _ => Ok(()),
    }
}

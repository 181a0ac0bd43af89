//! MySQL: a healthy server, and settings that endanger its locks.

use std::{collections::BTreeMap, time::Duration};

use dlock_servers::mysql::{Flavour, Galera, MovingProxy, Node, Options};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available, until},
    verdict::Severity,
};
use libtest_mimic::Trial;
use rustix::process::Signal;

use crate::{
    stop::{begun, stopped},
    support::{expect, quick_holds, settings, trial, verify},
    traffic::{self, Counters},
};

/// A server that has started grants nothing for this time, which the URL sets.
const GUARD: Duration = Duration::from_secs(10);

pub(crate) fn trials() -> Vec<Trial> {
    let trials = vec![
        trial("mysql::a_healthy_server_holds", a_healthy_server_holds),
        trial("mysql::a_quick_run_on_mariadb", a_quick_run_on_mariadb),
        trial(
            "mysql::a_proxy_that_moves_sessions",
            a_proxy_that_moves_sessions,
        ),
        trial("mysql::a_replica_that_lags", a_replica_that_lags),
        trial("mysql::ctrl_c_leaves_nothing", ctrl_c_leaves_nothing),
        trial(
            "mysql::a_log_that_is_not_flushed",
            a_log_that_is_not_flushed,
        ),
    ];
    let mut all = if_available("mysql", Flavour::MySqlNewest.find().map(drop), trials);
    let galera = vec![trial("mysql::a_node_of_galera", a_node_of_galera)];
    all.extend(if_available("galera", Galera::find(), galera));
    all
}

async fn a_healthy_server_holds() -> Outcome {
    let node = Node::start(Flavour::MySqlNewest, &Options::default()).await?;
    let guard = GUARD.as_secs();
    let url = format!("{}?restart_guard={guard}s&ttl={guard}s", node.url());
    // The account may not read what replicas do.
    let unread = ["mysql.lost-row", "mysql.replica", "mysql.replicas"];
    let destroying = "'Com_drop_table', 'Com_truncate', 'Com_alter_table', 'Com_flush'";
    let before = status(&node, destroying).await?;
    let store = traffic::holds(&url, &unread, async || counters(&node).await).await?;
    let finding = expect(&store, "mysql.replicas", Severity::Unknown)?;
    ensure!(finding.advice.contains("REPLICATION"), "{finding:#?}");
    let rows = node.query("SELECT COUNT(*) FROM locks.dlock_locks").await?;
    ensure!(rows == [["0"]], "left behind: {rows:?} rows");
    let after = status(&node, destroying).await?;
    ensure!(after == before, "{after:?} after {before:?}");
    Ok(())
}

/// Counters of the server.
async fn status(node: &Node, names: &str) -> Outcome<BTreeMap<String, u32>> {
    let rows = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
    let mut found = BTreeMap::new();
    for row in node.query(&rows).await? {
        let [name, count] = row.as_slice() else {
            return Err(format!("not a counter: {row:?}").into());
        };
        found.insert(name.clone(), count.parse()?);
    }
    Ok(found)
}

async fn counters(node: &Node) -> Outcome<Counters> {
    // The server does not count these as questions.
    let uncounted = "'Com_stmt_prepare', 'Com_stmt_reset', 'Com_stmt_close', 'Com_admin_commands'";
    let names = format!("'Questions', 'Threads_connected', {uncounted}");
    let mut found = status(node, &names).await?;
    let connections = found.remove("Threads_connected").ok_or("no such counter")?;
    Ok(Counters {
        requests: found.values().sum::<u32>().into(),
        connections,
    })
}

/// A script may do this before it deploys.
async fn a_quick_run_on_mariadb() -> Outcome {
    let node = Node::start(Flavour::MariaDbStable, &Options::default()).await?;
    let guard = GUARD.as_secs();
    let url = format!("{}?restart_guard={guard}s&ttl={guard}s", node.url());
    let unread = ["mysql.lost-row", "mysql.replica", "mysql.replicas"];
    let store = quick_holds(&url, &unread).await?;
    let server = store.server.ok_or("no server")?;
    ensure!(server.product == "MariaDB", "{server:?}");
    Ok(())
}

async fn a_proxy_that_moves_sessions() -> Outcome {
    let node = Node::start(Flavour::MySqlNewest, &Options::default()).await?;
    // Without TLS, MySQL lets in an account only after it has logged in with it.
    settings(&node.url()).await?;
    let proxy = MovingProxy::start(node.address()).await?;
    let url = node.url_at(proxy.address());
    let url = format!("{url}?tls=disabled&restart_guard=0s");
    let (code, store) = settings(&url).await?;
    let finding = expect(&store, "mysql.proxy", Severity::Danger)?;
    ensure!(!finding.advice.is_empty(), "{finding:#?}");
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}

/// Far more than a case takes.
const LATE: Duration = Duration::from_secs(3_600);

/// The address is that of the replica, where dlock takes no locks.
async fn a_replica_that_lags() -> Outcome {
    let server = async |id: &str| {
        let arguments = ["--log-bin=log", id].map(str::to_owned).to_vec();
        let options = Options {
            arguments,
            ..Options::default()
        };
        let node = Node::start(Flavour::MySqlNewest, &options).await?;
        node.query("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO app")
            .await?;
        Ok::<_, std::io::Error>(node)
    };
    let (primary, replica) = tokio::try_join!(server("--server-id=1"), server("--server-id=2"))?;
    replica.follow_late(&primary, LATE).await?;
    replica.query("SET GLOBAL read_only = 1").await?;
    primary.query("CREATE TABLE locks.more (id INT)").await?;
    until("the replica is behind", async || {
        let (_, store) = settings(&replica.url()).await?;
        let mut findings = store.findings.iter();
        Ok(findings.any(|finding| finding.id == "mysql.lost-row"))
    })
    .await?;
    let (code, store) = settings(&replica.url()).await?;
    let finding = expect(&store, "mysql.lost-row", Severity::Warning)?;
    ensure!(finding.found.ends_with("s behind"), "{finding:#?}");
    expect(&store, "mysql.replica", Severity::Danger)?;
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}

async fn a_node_of_galera() -> Outcome {
    let galera = Galera::start().await?;
    let (code, store) = settings(&galera.node().url()).await?;
    expect(&store, "mysql.galera", Severity::Danger)?;
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}

async fn ctrl_c_leaves_nothing() -> Outcome {
    let node = Node::start(Flavour::MySqlNewest, &Options::default()).await?;
    let url = format!("{}?restart_guard=0s", node.url());
    let idle = counters(&node).await?.connections;
    let running = verify(&[&url])?;
    begun("locks", async || {
        // The tables are made at first.
        let rows = node.query("SELECT COUNT(*) FROM locks.dlock_locks").await;
        Ok(rows.is_ok_and(|rows| rows != [["0"]]))
    })
    .await?;
    stopped(running, Signal::INT).await?;
    let rows = node.query("SELECT COUNT(*) FROM locks.dlock_locks").await?;
    ensure!(rows == [["0"]], "left behind: {rows:?} rows");
    // The server notices the end of a connection a moment later.
    until("the connections end", async || {
        Ok(counters(&node).await?.connections == idle)
    })
    .await
}

async fn a_log_that_is_not_flushed() -> Outcome {
    let options = Options {
        arguments: vec!["--innodb-flush-log-at-trx-commit=2".into()],
        ..Options::default()
    };
    let node = Node::start(Flavour::MySqlNewest, &options).await?;
    let url = format!("{}?restart_guard=0s", node.url());
    let (_, store) = settings(&url).await?;
    expect(&store, "mysql.flush", Severity::Warning)?;
    Ok(())
}

//! MySQL: a healthy server, and settings that endanger its locks.

use std::time::Duration;

use dlock_servers::mysql::{Flavour, Node, Options};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available},
    verdict::Severity,
};
use libtest_mimic::Trial;

use crate::support::{expect, holds, settings, trial};

/// A server that has started grants nothing for this time, which the URL sets.
const GUARD: Duration = Duration::from_secs(10);

pub(crate) fn trials() -> Vec<Trial> {
    let trials = vec![
        trial("mysql::a_healthy_server_holds", a_healthy_server_holds),
        trial(
            "mysql::a_log_that_is_not_flushed",
            a_log_that_is_not_flushed,
        ),
    ];
    if_available("mysql", Flavour::MySqlNewest.find().map(drop), trials)
}

async fn a_healthy_server_holds() -> Outcome {
    let node = Node::start(Flavour::MySqlNewest, &Options::default()).await?;
    let guard = GUARD.as_secs();
    let url = format!("{}?restart_guard={guard}s&ttl={guard}s", node.url());
    // The account may not read what replicas do.
    let unread = ["mysql.lost-row", "mysql.replica", "mysql.replicas"];
    let store = holds(&url, &unread).await?;
    let finding = expect(&store, "mysql.replicas", Severity::Unknown)?;
    ensure!(finding.advice.contains("REPLICATION"), "{finding:#?}");
    let rows = node.query("SELECT COUNT(*) FROM locks.dlock_locks").await?;
    ensure!(rows == [["0"]], "left behind: {rows:?} rows");
    Ok(())
}

async fn a_log_that_is_not_flushed() -> Outcome {
    let options = Options {
        arguments: vec!["--innodb-flush-log-at-trx-commit=2".into()],
        ..Options::default()
    };
    let node = Node::start(Flavour::MySqlNewest, &options).await?;
    let (_, store) = settings(&node.url()).await?;
    expect(&store, "mysql.flush", Severity::Warning)?;
    Ok(())
}

//! A primary and a replica that lags.

use dlock_raw::probe::Severity::{Danger, Warning};
use dlock_servers::mysql::{self, Node};

use super::start;
use crate::support::{Flavour, Outcome, assert_fine, cases, finding, refused, report_of, until};

cases![a_primary_with_a_replica_that_lags_is_reported_and_so_is_the_replica];

async fn a_primary_with_a_replica_that_lags_is_reported_and_so_is_the_replica(
    flavour: Flavour,
) -> Outcome {
    let log = "--log-bin=log";
    let primary = start(flavour, &["--server-id=1", log, "--sync-binlog=1"]).await?;
    let replica = start(flavour, &["--server-id=2", log, "--report-host=replica"]).await?;
    let is_mariadb = flavour.mysql()? == mysql::Flavour::MariaDbStable;
    for node in [&primary, &replica] {
        let rights = match is_mariadb {
            true => "REPLICATION SLAVE, SLAVE MONITOR, REPLICATION MASTER ADMIN",
            false => "REPLICATION SLAVE, REPLICATION CLIENT",
        };
        node.query(&format!("GRANT {rights} ON *.* TO app")).await?;
    }
    assert_fine(
        &report_of(primary.url()).await?,
        &["mysql.replicas", "mysql.replica"],
    );
    follow(is_mariadb, &replica, &primary).await?;
    until("the primary knows it", async || {
        let hosts = primary.query("SHOW REPLICA HOSTS").await;
        let hosts = match hosts {
            Ok(hosts) => hosts,
            Err(_) => primary.query("SHOW REPLICAS").await?,
        };
        Ok(!hosts.is_empty())
    })
    .await?;
    let report = report_of(primary.url()).await?;
    finding(&report, Warning, "mysql.replicas")?;
    assert_eq!(report.about.role, "primary, 1 replicas");
    // It applies what it has an hour later.
    replica.query("SET GLOBAL read_only = 1").await?;
    primary.query("CREATE TABLE locks.more (id INT)").await?;
    until("it is behind", async || {
        let report = report_of(replica.url()).await?;
        Ok(report
            .findings
            .iter()
            .any(|finding| finding.id == "mysql.lost-row"))
    })
    .await?;
    refused(dlock::connect(replica.url().as_str()).await)?;
    let report = report_of(replica.url()).await?;
    finding(&report, Danger, "mysql.read-only")?;
    finding(&report, Danger, "mysql.replica")?;
    let lag = finding(&report, Warning, "mysql.lost-row")?;
    assert!(lag.found.ends_with("s behind"), "{lag:?}");
    assert_eq!(report.about.role, "replica");
    Ok(())
}

/// Makes `replica` follow what `primary` does from now on, an hour later.
async fn follow(is_mariadb: bool, replica: &Node, primary: &Node) -> Outcome {
    let (status, change, start) = match is_mariadb {
        true => (
            "SHOW MASTER STATUS",
            "CHANGE MASTER TO MASTER_",
            "START SLAVE",
        ),
        false => (
            "SHOW BINARY LOG STATUS",
            "CHANGE REPLICATION SOURCE TO GET_SOURCE_PUBLIC_KEY=1, SOURCE_",
            "START REPLICA",
        ),
    };
    let status = primary.query(status).await?;
    let (file, position) = (&status[0][0], &status[0][1]);
    let parts = [
        "HOST='127.0.0.1'".to_owned(),
        format!("PORT={}", primary.address().port()),
        "USER='app'".to_owned(),
        "PASSWORD='hunter2'".to_owned(),
        format!("LOG_FILE='{file}'"),
        format!("LOG_POS={position}"),
        "DELAY=3600".to_owned(),
    ];
    let (_, prefix) = change.rsplit_once(' ').unwrap_or_default();
    let change = format!("{change}{}", parts.join(&format!(", {prefix}")));
    replica.query(&format!("{change}; {start}")).await?;
    Ok(())
}

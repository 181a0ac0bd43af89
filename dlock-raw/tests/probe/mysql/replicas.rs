//! A primary and a replica that lags.

use std::time::Duration;

use dlock_raw::probe::Severity::{Danger, Warning};
use dlock_servers::mysql;

use super::start;
use crate::support::{Flavour, Outcome, assert_fine, cases, finding, refused, report_of, until};

/// Far more than a case takes.
const LATE: Duration = Duration::from_secs(3600);

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
    replica.follow_late(&primary, LATE).await?;
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
    assert_eq!(report.about.role, "primary, 1 replica");
    // The replica applies what it has an hour later.
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

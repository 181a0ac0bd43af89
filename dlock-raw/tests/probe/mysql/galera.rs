//! Galera, for MariaDB only.

use dlock_raw::probe::Severity::Danger;
use dlock_servers::mysql::Galera;

use crate::support::{Flavour, Outcome, cases, finding, refused, report_of};

cases![a_node_of_galera_is_a_danger];

async fn a_node_of_galera_is_a_danger(_: Flavour) -> Outcome {
    let galera = Galera::start().await?;
    let url = galera.node().url();
    refused(dlock::connect(url.as_str()).await)?;
    let report = report_of(url).await?;
    let found = finding(&report, Danger, "mysql.galera")?;
    assert_eq!((&*found.found, &*found.wanted), ("ON", "OFF"));
    Ok(())
}

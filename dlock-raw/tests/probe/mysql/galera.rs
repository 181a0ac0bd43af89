//! Galera, by the provider of the distribution: for MariaDB only.

use std::path::Path;

use dlock_raw::probe::Severity::Danger;
use dlock_servers::Port;

use super::start;
use crate::support::{Flavour, Outcome, cases, finding, refused, report_of};

cases![a_node_of_galera_is_a_danger];

/// Where Debian and its like have it.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// Whether there is a provider.
pub(crate) fn find() -> Result<(), String> {
    match Path::new(PROVIDER).is_file() {
        true => Ok(()),
        false => Err("galera-4 is not installed".to_owned()),
    }
}

async fn a_node_of_galera_is_a_danger(flavour: Flavour) -> Outcome {
    let port = Port::reserve()?;
    let provider = format!("--wsrep-provider={PROVIDER}");
    let listen = format!(
        "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{}",
        port.number()
    );
    let node = start(
        flavour,
        &[
            "--wsrep-on=ON",
            &provider,
            &listen,
            "--wsrep-cluster-address=gcomm://",
            "--wsrep-node-address=127.0.0.1",
            "--wsrep-sst-method=rsync",
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
        ],
    )
    .await?;
    refused(dlock::connect(node.url().as_str()).await)?;
    let report = report_of(node.url()).await?;
    let found = finding(&report, Danger, "mysql.galera")?;
    assert_eq!((&*found.found, &*found.wanted), ("ON", "OFF"));
    Ok(())
}

//! One server: its settings, its limits, and which server it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use dlock::ErrorKind;
use dlock_raw::probe::Severity::{Danger, Warning};
use dlock_servers::mysql::{self, MovingProxy};
use dlock_verify::proxy::Proxy;

use super::start;
use crate::support::{
    Flavour, Outcome, assert_fine, assert_healthy, cases, finding, refused, report_of, unknown,
};

cases![
    a_healthy_server_has_nothing_to_mend,
    a_proxy_that_moves_sessions_is_a_danger,
    two_servers_behind_one_address_are_a_danger,
    a_table_without_row_locks_is_a_danger,
    a_log_that_is_not_flushed_is_reported,
    a_server_with_few_connections_is_reported,
    an_account_that_may_write_always_is_reported,
    a_guard_that_is_off_is_reported,
    what_the_account_may_not_read_is_unknown,
    a_wrong_password_is_an_error_that_does_not_have_it,
];

/// A server to which nothing needs to be said: one without a log has no replicas.
const SOUND: &[&str] = &["--skip-log-bin", "--innodb-flush-log-at-trx-commit=1"];

async fn a_healthy_server_has_nothing_to_mend(flavour: Flavour) -> Outcome {
    let node = start(flavour, SOUND).await?;
    node.query("GRANT REPLICATION CLIENT ON *.* TO app").await?;
    if flavour.mysql()? == mysql::Flavour::MariaDbStable {
        node.query("GRANT SLAVE MONITOR ON *.* TO app").await?;
    }
    let report = report_of(node.url()).await?;
    let product = match flavour.mysql()? {
        mysql::Flavour::MariaDbStable => "MariaDB",
        _ => "MySQL",
    };
    assert_eq!(report.about.product, product);
    assert_eq!(report.about.role, "primary, 0 replicas");
    assert_eq!(report.about.servers, [node.address().to_string()]);
    let all = [
        "mysql.proxy",
        "mysql.two-servers",
        "mysql.galera",
        "mysql.clock",
        "mysql.split",
    ];
    assert_fine(&report, &all);
    assert_healthy(&report);
    let measured = report.assumptions[0]
        .measured
        .as_deref()
        .unwrap_or_default();
    assert!(measured.contains("ppm"), "{:?}", report.assumptions);
    Ok(())
}

async fn a_proxy_that_moves_sessions_is_a_danger(flavour: Flavour) -> Outcome {
    let node = start(flavour, SOUND).await?;
    // Without TLS, MySQL lets in an account only after it has logged in with it.
    report_of(node.url()).await?;
    let relay = MovingProxy::start(node.address()).await?;
    let url = format!("{}?tls=disabled", node.url_at(relay.address()));
    let report = report_of(url).await?;
    let found = finding(&report, Danger, "mysql.proxy")?;
    assert_eq!(found.exception, Some("mysql.proxy"));
    assert_fine(&report, &["mysql.two-servers"]);
    // One that keeps sessions is none that is reported.
    let proxy = Proxy::start(node.address())?;
    assert_fine(
        &report_of(node.url_at(proxy.address())).await?,
        &["mysql.proxy"],
    );
    Ok(())
}

async fn two_servers_behind_one_address_are_a_danger(flavour: Flavour) -> Outcome {
    let a = start(flavour, &["--server-id=1"]).await?;
    let b = start(flavour, &["--server-id=2"]).await?;
    let addresses = [a.address(), b.address()];
    let turn = AtomicUsize::new(0);
    let next = move |_| Some(addresses[turn.fetch_add(1, Ordering::Relaxed) % 2]);
    let proxy = Proxy::switch(next)?;
    let report = report_of(a.url_at(proxy.address())).await?;
    let found = finding(&report, Danger, "mysql.two-servers")?;
    assert!(
        found.found.contains("server_id 1") && found.found.contains("server_id 2"),
        "{found:?}"
    );
    Ok(())
}

async fn a_table_without_row_locks_is_a_danger(flavour: Flavour) -> Outcome {
    let node = start(flavour, SOUND).await?;
    let table =
        "CREATE TABLE locks.dlock_locks (name VARBINARY(383) NOT NULL PRIMARY KEY) ENGINE=MyISAM";
    node.query(table).await?;
    let report = report_of(node.url()).await?;
    let found = finding(&report, Danger, "mysql.engine")?;
    assert_eq!(found.advice, "ALTER TABLE dlock_locks ENGINE=InnoDB");
    node.query(&found.advice.replace("dlock_locks", "locks.dlock_locks"))
        .await?;
    assert_fine(&report_of(node.url()).await?, &["mysql.engine"]);
    Ok(())
}

async fn a_log_that_is_not_flushed_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, &["--innodb-flush-log-at-trx-commit=2"]).await?;
    let report = report_of(node.url()).await?;
    let found = finding(&report, Warning, "mysql.flush")?;
    assert_eq!(found.exception, Some("mysql.lost-row"));
    Ok(())
}

async fn a_server_with_few_connections_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, &["--max-connections=50"]).await?;
    finding(&report_of(node.url()).await?, Warning, "mysql.connections")?;
    let report = report_of(format!("{}?held_max=20", node.url())).await?;
    assert_fine(&report, &["mysql.connections"]);
    Ok(())
}

async fn an_account_that_may_write_always_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, SOUND).await?;
    let right = match flavour.mysql()? {
        mysql::Flavour::MariaDbStable => "READ_ONLY ADMIN",
        _ => "CONNECTION_ADMIN",
    };
    node.query(&format!("GRANT {right} ON *.* TO app")).await?;
    let found = report_of(node.url()).await?;
    assert_eq!(finding(&found, Warning, "mysql.split")?.found, right);
    node.query(&format!("REVOKE {right} ON *.* FROM app"))
        .await?;
    assert_fine(&report_of(node.url()).await?, &["mysql.split"]);
    Ok(())
}

async fn a_guard_that_is_off_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, SOUND).await?;
    let report = report_of(format!("{}?restart_guard=0s", node.url())).await?;
    finding(&report, Warning, "mysql.unguarded")?;
    assert_fine(&report_of(node.url()).await?, &["mysql.unguarded"]);
    Ok(())
}

async fn what_the_account_may_not_read_is_unknown(flavour: Flavour) -> Outcome {
    let node = start(flavour, &["--log-bin=log", "--server-id=1"]).await?;
    let report = report_of(node.url()).await?;
    for id in ["mysql.replica", "mysql.lost-row", "mysql.replicas"] {
        let unknown = unknown(&report, id)?;
        assert!(
            unknown.grant.starts_with("GRANT ") && unknown.grant.ends_with("TO app"),
            "{unknown:?}"
        );
        // What is granted is read.
        node.query(&unknown.grant).await?;
    }
    let report = report_of(node.url()).await?;
    assert_fine(
        &report,
        &["mysql.replica", "mysql.lost-row", "mysql.replicas"],
    );
    Ok(())
}

async fn a_wrong_password_is_an_error_that_does_not_have_it(flavour: Flavour) -> Outcome {
    let node = start(flavour, SOUND).await?;
    let url = node.url().replace("hunter2", "hunter3");
    let error = refused(dlock_raw::probe::probe(&url.parse()?).await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    assert!(!format!("{error:?}").contains("hunter3"), "{error:?}");
    let report = report_of(node.url()).await?;
    assert!(!serde_json::to_string(&report)?.contains("hunter2"));
    Ok(())
}

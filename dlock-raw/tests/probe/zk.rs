//! ZooKeeper: one server or an ensemble.

use std::{net::Ipv4Addr, time::Duration};

use dlock::ErrorKind;
use dlock_raw::probe::Severity::{Danger, Note, Warning};
use dlock_servers::{
    Port,
    zk::{Ensemble, Java, Node, Options},
};

use crate::support::{
    Flavour, Outcome, assert_fine, assert_healthy, cases, finding, refused, report_of, unknown,
};

cases![
    a_healthy_ensemble_has_nothing_to_mend,
    a_server_with_tls_is_read_as_one_without,
    a_server_that_does_not_flush_is_a_danger,
    a_tick_that_the_url_does_not_know_is_a_danger,
    a_server_alone_is_reported,
    a_server_that_is_down_is_reported,
    sessions_that_are_too_short_are_reported,
    few_connections_are_reported,
    what_the_whitelist_forbids_is_unknown,
    the_admin_server_has_what_the_whitelist_forbids,
    servers_without_a_majority_are_an_error_or_a_danger,
];

/// Servers as they come, but the tests' default of no flush.
fn flushing() -> Options {
    Options {
        properties: vec!["zookeeper.forceSync=yes".to_owned()],
        ..Options::default()
    }
}

async fn start(flavour: Flavour, options: &Options) -> Outcome<Node> {
    Ok(Node::start(&java(flavour)?, options).await?)
}

fn java(flavour: Flavour) -> Outcome<Java> {
    Ok(flavour.zk()?.find()?)
}

async fn a_healthy_ensemble_has_nothing_to_mend(flavour: Flavour) -> Outcome {
    let ensemble = Ensemble::start(&java(flavour)?, &flushing()).await?;
    ensemble.leader().await?;
    let report = report_of(format!("zk://{}", ensemble.addresses())).await?;
    assert_eq!(report.about.product, "ZooKeeper");
    assert!(report.about.version.starts_with("3."), "{:?}", report.about);
    assert_eq!(report.about.role, "ensemble of 3 servers");
    assert_fine(
        &report,
        &[
            "zk.tick",
            "zk.no-force-sync",
            "zk.followers",
            "zk.members",
            "zk.session-max",
            "zk.read-only",
        ],
    );
    assert_healthy(&report);
    // The two sessions have ended.
    let leader = ensemble.leader().await?;
    let sessions = ensemble.nodes()[leader]
        .metric("zk_global_sessions")
        .await?;
    assert_eq!(sessions, "0");
    Ok(())
}

async fn a_server_with_tls_is_read_as_one_without(flavour: Flavour) -> Outcome {
    let options = Options {
        has_tls: true,
        ..flushing()
    };
    let node = start(flavour, &options).await?;
    let (address, certificates) = node.secure().ok_or("no TLS")?;
    let keys = format!(
        "{}&{}",
        certificates.ca_in_url(),
        certificates.client_in_url()
    );
    let report = report_of(format!("zks://{address}?{keys}")).await?;
    assert_fine(&report, &["zk.tick", "zk.no-force-sync", "zk.session-max"]);
    finding(&report, Warning, "zk.standalone")?;
    Ok(())
}

async fn a_server_that_does_not_flush_is_a_danger(flavour: Flavour) -> Outcome {
    // The tests' own default.
    let node = start(flavour, &Options::default()).await?;
    let report = report_of(format!("zk://{}", node.address())).await?;
    let found = finding(&report, Danger, "zk.no-force-sync")?;
    assert!(found.advice.contains("forceSync"), "{found:?}");
    Ok(())
}

async fn a_tick_that_the_url_does_not_know_is_a_danger(flavour: Flavour) -> Outcome {
    // Bounds that hide it: dlock connects.
    let mut options = Options::with_tick(Duration::from_secs(6));
    options.lines = vec![
        "minSessionTimeout=4000".to_owned(),
        "maxSessionTimeout=60000".to_owned(),
    ];
    let node = start(flavour, &options).await?;
    let url = format!("zk://{}", node.address());
    dlock::connect(url.as_str()).await?;
    let report = report_of(&url).await?;
    let found = finding(&report, Danger, "zk.tick")?;
    assert_eq!(found.exception, Some("zk.tick"));
    assert_eq!(found.advice, "tick=6000ms in the URL");
    // What the advice says mends it.
    assert_fine(
        &report_of(format!("{url}?tick=6000ms")).await?,
        &["zk.tick"],
    );
    finding(&report_of(format!("{url}?tick=7s")).await?, Note, "zk.tick")?;
    Ok(())
}

async fn a_server_alone_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, &flushing()).await?;
    let mut report = report_of(format!("zk://{}", node.address())).await?;
    finding(&report, Warning, "zk.standalone")?;
    assert_eq!(report.about.role, "standalone");
    report
        .findings
        .retain(|finding| finding.id != "zk.standalone");
    assert_healthy(&report);
    Ok(())
}

async fn a_server_that_is_down_is_reported(flavour: Flavour) -> Outcome {
    let mut ensemble = Ensemble::start(&java(flavour)?, &flushing()).await?;
    let addresses = ensemble.addresses();
    let follower = ensemble.follower().await?;
    let gone = ensemble.nodes()[follower].address().to_string();
    ensemble.nodes_mut()[follower].kill()?;
    let leader = ensemble.leader().await?;
    crate::support::until("the leader notices", async || {
        Ok(ensemble.nodes()[leader]
            .metric("zk_synced_followers")
            .await?
            == "1")
    })
    .await?;
    let report = report_of(format!("zk://{addresses}")).await?;
    let found = finding(&report, Warning, "zk.unreachable")?;
    assert!(found.found.contains(&gone), "{found:?}");
    finding(&report, Warning, "zk.followers")?;
    Ok(())
}

async fn sessions_that_are_too_short_are_reported(flavour: Flavour) -> Outcome {
    let mut options = flushing();
    options.lines.push("maxSessionTimeout=20000".to_owned());
    let node = start(flavour, &options).await?;
    let url = format!("zk://{}", node.address());
    let found = finding(&report_of(&url).await?, Warning, "zk.session-max")?
        .found
        .clone();
    assert_eq!(found, "20s");
    assert_fine(
        &report_of(format!("{url}?ttl=10s")).await?,
        &["zk.session-max"],
    );
    Ok(())
}

async fn few_connections_are_reported(flavour: Flavour) -> Outcome {
    let mut options = flushing();
    options.lines.push("maxClientCnxns=12".to_owned());
    let node = start(flavour, &options).await?;
    let report = report_of(format!("zk://{}", node.address())).await?;
    finding(&report, Warning, "zk.connections")?;
    Ok(())
}

async fn what_the_whitelist_forbids_is_unknown(flavour: Flavour) -> Outcome {
    let mut options = flushing();
    // The last line of a key counts. The tests need isro or srvr themselves.
    options.lines.push("4lw.commands.whitelist=srvr".to_owned());
    let node = start(flavour, &options).await?;
    let url = format!("zk://{}", node.address());
    let report = report_of(&url).await?;
    for id in [
        "zk.tick",
        "zk.no-force-sync",
        "zk.slow-disk",
        "zk.connections",
    ] {
        assert!(
            unknown(&report, id)?
                .grant
                .contains("4lw.commands.whitelist"),
            "{id}"
        );
    }
    // The command that is always allowed, and sessions, have these.
    assert_fine(
        &report,
        &[
            "zk.old-version",
            "zk.read-only",
            "zk.session-max",
            "zk.latency",
        ],
    );
    // A tick that the shortest session shows.
    finding(
        &report_of(format!("{url}?tick=1s")).await?,
        Warning,
        "zk.tick",
    )?;
    Ok(())
}

async fn the_admin_server_has_what_the_whitelist_forbids(flavour: Flavour) -> Outcome {
    // Its port is fixed, so it needs an address of its own, which a port that is ours makes unique.
    let port = Port::reserve()?;
    let [high, low] = port.number().to_be_bytes();
    let host = Ipv4Addr::new(127, 1, high, low);
    let mut options = flushing();
    options.lines.extend([
        "4lw.commands.whitelist=srvr".to_owned(),
        "clientPortAddress=0.0.0.0".to_owned(),
    ]);
    options.properties.extend([
        "zookeeper.admin.enableServer=true".to_owned(),
        format!("zookeeper.admin.serverAddress={host}"),
    ]);
    let node = start(flavour, &options).await?;
    let url = format!("zk://{host}:{}", node.address().port());
    assert_fine(
        &report_of(&url).await?,
        &[
            "zk.tick",
            "zk.no-force-sync",
            "zk.slow-disk",
            "zk.connections",
            "zk.read-only",
        ],
    );
    let report = report_of(format!("{url}?tick=1s")).await?;
    let found = finding(&report, Danger, "zk.tick")?;
    assert_eq!(found.advice, "tick=2000ms in the URL");
    Ok(())
}

async fn servers_without_a_majority_are_an_error_or_a_danger(flavour: Flavour) -> Outcome {
    let mut options = flushing();
    options
        .properties
        .push("readonlymode.enabled=true".to_owned());
    let mut ensemble = Ensemble::start(&java(flavour)?, &options).await?;
    let address = ensemble.nodes()[0].address();
    for node in &mut ensemble.nodes_mut()[1..] {
        node.kill()?;
    }
    let url = format!("zk://{address}?timeout=1s");
    crate::support::until("it only reads", async || {
        Ok(ensemble.nodes()[0]
            .mode()
            .await
            .is_ok_and(|mode| mode == "read-only"))
    })
    .await?;
    finding(&report_of(&url).await?, Danger, "zk.read-only")?;
    ensemble.nodes_mut()[0].kill()?;
    let error = refused(dlock_raw::probe::probe(&url.parse()?).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    Ok(())
}

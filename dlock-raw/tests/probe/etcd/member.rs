//! One member: its disk, its quota, its version and its timeouts.

use dlock_raw::probe::Severity::{Danger, Note, Warning};
use dlock_servers::etcd::{Node, Options, Tls};
use serde_json::{Value, json};

use super::{assert_only, start};
use crate::support::{Flavour, Outcome, assert_fine, cases, finding, report_of};

cases![
    a_single_member_is_reported_and_nothing_else,
    a_member_with_tls_is_read_as_one_without,
    an_alarm_for_space_is_a_danger,
    a_database_that_is_almost_full_is_reported,
    a_member_that_does_not_flush_is_a_danger,
    an_election_timeout_that_the_url_does_not_know_is_reported,
    a_learner_is_noted,
];

/// Large enough that a write changes it by little.
const QUOTA: u32 = 8 * 1024 * 1024;

async fn a_single_member_is_reported_and_nothing_else(flavour: Flavour) -> Outcome {
    let node = start(flavour, &[]).await?;
    let report = report_of(format!("etcd://{}", node.address())).await?;
    assert_eq!(
        (&*report.about.product, &*report.about.role),
        ("etcd", "1 member")
    );
    assert_eq!(report.about.servers, [node.address().to_string()]);
    let all = [
        "etcd.nospace",
        "etcd.no-fsync",
        "etcd.quota",
        "etcd.slow-disk",
        "etcd.lag",
    ];
    assert_fine(&report, &all);
    assert_only(flavour, report, &["etcd.members"])?;
    // A lease was made and revoked.
    let leases = node.call("/v3/lease/leases", &json!({})).await?;
    assert_eq!(leases["leases"], Value::Null, "{leases}");
    Ok(())
}

async fn a_member_with_tls_is_read_as_one_without(flavour: Flavour) -> Outcome {
    let options = Options {
        tls: Tls::Mutual,
        ..Options::default()
    };
    let node = Node::start(&flavour.etcd()?.find()?, &options).await?;
    let certificates = node.certificates().ok_or("no certificates")?;
    let keys = format!(
        "{}&{}",
        certificates.ca_in_url(),
        certificates.client_in_url()
    );
    let report = report_of(format!("etcds://{}?{keys}", node.address())).await?;
    assert_fine(&report, &["etcd.no-fsync", "etcd.nospace"]);
    assert_only(flavour, report, &["etcd.members"])
}

async fn an_alarm_for_space_is_a_danger(flavour: Flavour) -> Outcome {
    let node = start(flavour, &[]).await?;
    let url = format!("etcd://{}", node.address());
    let status = node.call("/v3/maintenance/status", &json!({})).await?;
    let member = &status["header"]["member_id"];
    let mut alarm = json!({"action": "ACTIVATE", "memberID": member, "alarm": "NOSPACE"});
    node.call("/v3/maintenance/alarm", &alarm).await?;
    let report = report_of(&url).await?;
    let found = finding(&report, Danger, "etcd.nospace")?;
    assert!(found.advice.contains("alarm disarm"), "{found:?}");
    assert_fine(&report, &["etcd.corrupt"]);
    alarm["action"] = "DEACTIVATE".into();
    node.call("/v3/maintenance/alarm", &alarm).await?;
    assert_fine(&report_of(&url).await?, &["etcd.nospace"]);
    alarm = json!({"action": "ACTIVATE", "memberID": member, "alarm": "CORRUPT"});
    node.call("/v3/maintenance/alarm", &alarm).await?;
    finding(&report_of(&url).await?, Danger, "etcd.corrupt")?;
    Ok(())
}

async fn a_database_that_is_almost_full_is_reported(flavour: Flavour) -> Outcome {
    let quota = format!("--quota-backend-bytes={QUOTA}");
    // Each write is committed by itself: the size that is reported has all of them.
    let node = start(flavour, &[&quota, "--backend-batch-limit=1"]).await?;
    let url = format!("etcd://{}", node.address());
    assert_fine(&report_of(&url).await?, &["etcd.quota"]);
    let value = "x".repeat(200_000);
    while node.metric("etcd_mvcc_db_total_size_in_bytes").await? < f64::from(QUOTA) * 0.82 {
        node.put("x", &value).await?;
    }
    let report = report_of(&url).await?;
    finding(&report, Warning, "etcd.quota")?;
    assert_fine(&report, &["etcd.nospace"]);
    Ok(())
}

async fn a_member_that_does_not_flush_is_a_danger(flavour: Flavour) -> Outcome {
    let node = start(flavour, &["--unsafe-no-fsync"]).await?;
    let report = report_of(format!("etcd://{}", node.address())).await?;
    let found = finding(&report, Danger, "etcd.no-fsync")?;
    assert!(
        found.found.contains(&node.address().to_string()),
        "{found:?}"
    );
    Ok(())
}

async fn an_election_timeout_that_the_url_does_not_know_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, &["--election-timeout=4000"]).await?;
    let url = format!("etcd://{}", node.address());
    let report = report_of(&url).await?;
    let found = finding(&report, Warning, "etcd.election-timeout")?;
    assert_eq!(found.advice, "election_timeout=4000ms in the URL");
    let report = report_of(format!("{url}?election_timeout=4000ms")).await?;
    assert_fine(&report, &["etcd.election-timeout"]);
    Ok(())
}

async fn a_learner_is_noted(flavour: Flavour) -> Outcome {
    let node = start(flavour, &[]).await?;
    let learner = json!({"peerURLs": ["http://127.0.0.1:1"], "isLearner": true});
    node.call("/v3/cluster/member/add", &learner).await?;
    let report = report_of(format!("etcd://{}", node.address())).await?;
    finding(&report, Note, "etcd.learner")?;
    let found = finding(&report, Warning, "etcd.members")?;
    assert_eq!(found.found, "1 member");
    Ok(())
}

//! Users, and members that do not answer.

use dlock::ErrorKind;
use dlock_servers::etcd::{self, Login, Node, Options};
use serde_json::json;

use super::start;
use crate::support::{Flavour, Outcome, assert_fine, cases, refused, report_of, unknown};

cases![
    a_user_without_rights_reads_what_it_may,
    a_wrong_password_is_an_error_that_does_not_have_it,
    a_member_that_is_stopped_is_an_error,
];

async fn protected(flavour: Flavour) -> Outcome<Node> {
    let options = Options {
        login: Login::Root("hunter2".to_owned()),
        ..Options::default()
    };
    Ok(Node::start(&flavour.etcd()?.find()?, &options).await?)
}

async fn a_user_without_rights_reads_what_it_may(flavour: Flavour) -> Outcome {
    let node = protected(flavour).await?;
    let user = json!({"name": "shop", "password": "secret"});
    node.call("/v3/auth/user/add", &user).await?;
    let report = report_of(format!("etcd://shop:secret@{}", node.address())).await?;
    assert_fine(
        &report,
        &["etcd.no-fsync", "etcd.election-timeout", "etcd.quota"],
    );
    assert!(report.about.version.starts_with("3."), "{:?}", report.about);
    // Older versions show their state to all.
    if flavour.etcd()? == etcd::Flavour::Newest {
        let leader = unknown(&report, "etcd.no-leader")?;
        assert_eq!(leader.grant, "etcdctl user grant-role shop root");
        node.call(
            "/v3/auth/user/grant",
            &json!({"user": "shop", "role": "root"}),
        )
        .await?;
    }
    let report = report_of(format!("etcd://shop:secret@{}", node.address())).await?;
    assert_fine(&report, &["etcd.no-leader", "etcd.lag", "etcd.nospace"]);
    assert!(!serde_json::to_string(&report)?.contains("secret"));
    Ok(())
}

async fn a_wrong_password_is_an_error_that_does_not_have_it(flavour: Flavour) -> Outcome {
    let node = protected(flavour).await?;
    let url = format!("etcd://root:hunter3@{}", node.address());
    let error = refused(dlock_raw::probe::probe(&url.parse()?).await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    assert!(!format!("{error:?}").contains("hunter3"), "{error:?}");
    Ok(())
}

async fn a_member_that_is_stopped_is_an_error(flavour: Flavour) -> Outcome {
    let node = start(flavour, &[]).await?;
    node.stop()?;
    let url = format!("etcd://{}?connect_timeout=1s&timeout=1s", node.address());
    let error = refused(dlock_raw::probe::probe(&url.parse()?).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    Ok(())
}

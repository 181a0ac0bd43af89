//! Rights: what the account may not read is unknown, and a probe needs few of them.

use dlock_raw::probe::{REQUESTS_MAX, Severity::Warning};
use dlock_servers::redis::{Login, Node, Options, Persistence};

use super::start;
use crate::support::{Flavour, Outcome, assert_fine, cases, finding, refused, report_of, unknown};

cases![
    what_a_user_may_not_read_is_unknown_with_the_right_to_grant,
    a_probe_only_reads,
    a_password_is_in_no_report_and_no_error,
    a_server_that_does_not_answer_is_an_error,
];

async fn what_a_user_may_not_read_is_unknown_with_the_right_to_grant(flavour: Flavour) -> Outcome {
    let node = start(flavour, Persistence::AofEverySecond, &[]).await?;
    // The rights that the README lists for locks.
    let user = [
        "ACL",
        "SETUSER",
        "shop",
        "on",
        ">secret",
        "~dlock:*",
        "&{dlock:*",
        "-@all",
    ];
    let rights = [
        "+hello",
        "+info",
        "+client|id",
        "+time",
        "+eval",
        "+evalsha",
        "+set",
        "+get",
    ];
    node.command(&[&user[..], &rights].concat()).await?;
    let url = format!("redis://shop:secret@{}?restart_guard=0s", node.address());
    let report = report_of(&url).await?;
    for (id, grant) in [
        ("redis.restart", "ACL SETUSER shop +config|get"),
        ("redis.idle-timeout", "ACL SETUSER shop +config|get"),
        ("redis.latency", "ACL SETUSER shop +latency|latest"),
    ] {
        let unknown = unknown(&report, id)?;
        assert_eq!(unknown.grant, grant);
        assert!(!report.checked.contains(&id), "{report:#?}");
        let mut command = grant.split(' ').collect::<Vec<_>>();
        node.command(&command).await?;
        command.clear();
    }
    // INFO has these.
    assert_fine(
        &report,
        &["redis.eviction", "redis.two-servers", "redis.proxy"],
    );
    finding(&report, Warning, "redis.late")?;
    // What is granted is read.
    node.command(&["ACL", "SETUSER", "shop", "+client|kill"])
        .await?;
    let report = report_of(&url).await?;
    finding(&report, Warning, "redis.restart")?;
    assert_fine(
        &report,
        &["redis.idle-timeout", "redis.latency", "redis.late"],
    );
    assert!(
        report
            .unknown
            .iter()
            .all(|unknown| unknown.id.starts_with("client."))
    );
    // Without INFO almost nothing is known, and that is no error.
    node.command(&["ACL", "SETUSER", "shop", "-info"]).await?;
    let report = report_of(&url).await?;
    assert_eq!(
        unknown(&report, "redis.eviction")?.grant,
        "ACL SETUSER shop +info"
    );
    Ok(())
}

async fn a_probe_only_reads(flavour: Flavour) -> Outcome {
    let node = start(flavour, Persistence::AofAlways, &[]).await?;
    node.command(&["CONFIG", "RESETSTAT"]).await?;
    report_of(format!("redis://{}", node.address())).await?;
    let all = node.command(&["INFO", "commandstats"]).await?.text()?;
    let allowed = [
        "info",
        "config|get",
        "config|resetstat",
        "latency|latest",
        "client|id",
        "client|kill",
        "client|setinfo",
        "client|setname",
        "time",
        "hello",
        "ping",
    ];
    let mut calls = 0;
    for line in all.lines().filter_map(|line| line.strip_prefix("cmdstat_")) {
        let (command, counts) = line.split_once(":calls=").ok_or("no calls")?;
        assert!(allowed.contains(&command), "{command}");
        let (count, _) = counts.split_once(',').ok_or("no count")?;
        calls += count.parse::<u32>()?;
    }
    assert!(calls <= REQUESTS_MAX, "{calls} requests");
    assert_eq!(node.info("rdb_changes_since_last_save").await?, "0");
    Ok(())
}

async fn a_password_is_in_no_report_and_no_error(flavour: Flavour) -> Outcome {
    let options = Options {
        login: Login::Password("hunter2".to_owned()),
        ..Options::default()
    };
    let node = Node::start(&flavour.redis()?, &options).await?;
    let report = report_of(format!("redis://:hunter2@{}", node.address())).await?;
    let json = serde_json::to_string(&report)?;
    assert!(
        !json.contains("hunter2") && json.contains("redis.restart"),
        "{json}"
    );
    assert!(!format!("{report:?}").contains("hunter2"));
    let wrong = format!("redis://:hunter3@{}", node.address());
    let error = refused(dlock_raw::probe::probe(&wrong.parse()?).await)?;
    assert!(!format!("{error:?}").contains("hunter3"), "{error:?}");
    assert_eq!(error.kind(), dlock::ErrorKind::Denied, "{error}");
    Ok(())
}

async fn a_server_that_does_not_answer_is_an_error(flavour: Flavour) -> Outcome {
    let node = start(flavour, Persistence::None, &[]).await?;
    node.stop()?;
    let url = format!("redis://{}?connect_timeout=1s&timeout=1s", node.address());
    let error = refused(dlock_raw::probe::probe(&url.parse()?).await)?;
    assert_eq!(error.kind(), dlock::ErrorKind::Unavailable, "{error}");
    Ok(())
}

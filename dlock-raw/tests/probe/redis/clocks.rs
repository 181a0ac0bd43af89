//! Clocks: of the server against this machine's, and of servers against each other.

use dlock_raw::probe::{
    Severity::{Danger, Warning},
    Watch,
};
use dlock_servers::{
    SetClock,
    redis::{Node, Options},
};

use crate::support::{Flavour, Outcome, assert_fine, cases, finding, report_of, until};

cases![
    a_clock_that_runs_faster_is_a_danger,
    clocks_that_are_apart_are_reported,
];

async fn a_clock_that_runs_faster_is_a_danger(flavour: Flavour) -> Outcome {
    let clock = SetClock::new()?;
    let program = flavour.redis()?.under(&clock)?;
    let node = Node::start(&program, &Options::default()).await?;
    let url = format!("redis://{}", node.address());
    let watch = Watch::begin(&url.parse()?).await?;
    assert_fine(&watch.end().await, &["client.clock-rate"]);
    clock.set(2)?;
    until("the server has the new time", async || {
        Ok(!watch
            .end()
            .await
            .findings
            .iter()
            .all(|finding| finding.id != "client.clock-rate"))
    })
    .await?;
    let report = watch.end().await;
    let found = finding(&report, Danger, "client.clock-rate")?;
    assert_eq!(found.clause, "K2");
    assert!(found.found.starts_with('+'), "{found:?}");
    Ok(())
}

async fn clocks_that_are_apart_are_reported(flavour: Flavour) -> Outcome {
    let clock = SetClock::new()?;
    let program = flavour.redis()?;
    let primary = Node::start(&program, &Options::default()).await?;
    let replica = Node::start(&program.under(&clock)?, &Options::default()).await?;
    let port = primary.address().port().to_string();
    replica.command(&["REPLICAOF", "127.0.0.1", &port]).await?;
    until("it follows", async || {
        Ok(replica.info("master_link_status").await? == "up")
    })
    .await?;
    let url = format!("redis://{}", primary.address());
    assert_fine(&report_of(&url).await?, &["redis.clocks"]);
    clock.set(-5)?;
    until("the clock is set", async || {
        let time = replica.command(&["TIME"]).await?.array()?;
        let there: u64 = time.into_iter().next().ok_or("no time")?.text()?.parse()?;
        let time = primary.command(&["TIME"]).await?.array()?;
        let here: u64 = time.into_iter().next().ok_or("no time")?.text()?.parse()?;
        Ok(there + 3 < here)
    })
    .await?;
    let report = report_of(&url).await?;
    let found = finding(&report, Warning, "redis.clocks")?;
    assert_eq!(found.exception, Some("redis.clocks"));
    Ok(())
}

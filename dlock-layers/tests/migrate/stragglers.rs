//! Holders in the old store alone, as programs on `migrate:` see them.

use std::time::Duration;

use dlock_core::{
    Clock, ErrorKind, Holder, LockName, Result,
    backend::DistributedLock as _,
    memory::{Fault, Operation},
};

use metrics_exporter_prometheus::PrometheusBuilder;

use crate::support::{Stores, refused};

/// Longer than it takes to inspect the holder.
const WAIT: Duration = Duration::from_secs(3);

#[tokio::test(start_paused = true)]
async fn a_holder_in_the_old_store_alone_is_named() -> Result<()> {
    let stores = Stores::started().await?;
    let (both, alone) = (stores.both().await?, stores.old_alone()?);
    let _held = alone.acquire("a").note("nightly").await?;
    let this = Holder::this_process();
    let (pid, host) = (this.pid.expect("a pid"), this.host.expect("a host"));
    let taken = both.acquire("a").wait(WAIT).await;
    let warning = format!("{pid}@{host} holds the lock in the old store alone; change the URL");
    assert_eq!(refused(taken, &warning), ErrorKind::Contended);
    let holder = both.inspect("a").await?.expect("held");
    assert!(holder.warning.is_some_and(|it| it.starts_with(&warning)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn holders_in_the_old_store_alone_are_counted() -> Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _local = metrics::set_default_local_recorder(&recorder);
    let counted = |count: u32| {
        let series = format!("dlock_stragglers_total{{backend=\"migrate\"}} {count}\n");
        recorder.handle().render().contains(&series)
    };
    let stores = Stores::started().await?;
    let (both, alone) = (stores.both().await?, stores.old_alone()?);
    assert!(counted(0), "the series exists from the start");
    let _held = alone.acquire("a").await?;
    assert!(both.acquire("a").wait(WAIT).await.is_err());
    assert!(counted(1), "{}", recorder.handle().render());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_holder_of_both_is_none() -> Result<()> {
    let stores = Stores::started().await?;
    let (first, second) = (stores.both().await?, stores.both().await?);
    let _held = first.acquire("a").note("checkout 77").await?;
    let taken = second.acquire("a").wait(WAIT).await;
    let error = taken.expect_err("it is taken");
    assert!(error.is_contended());
    assert!(!error.to_string().contains("alone"), "{error}");
    let name: LockName = "a".try_into()?;
    let in_old = stores.old.inspect(&name).await?.expect("held");
    assert_eq!(in_old.note.as_deref(), Some("[migrate] checkout 77"));
    let holder = second.inspect("a").await?.expect("held");
    assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    assert_eq!(holder.warning, None);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn after_the_switch_none_is_reported() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.steps()?.switch().await?;
    both.acquire("b").await?.release().await?;
    let _held = stores.old_alone()?.acquire("a").await?;
    let taken = both.acquire("a").wait(WAIT).await;
    let error = taken.expect_err("the old store answers, so it is respected");
    assert!(!error.to_string().contains("alone"), "{error}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_program_waits_for_an_inspection() -> Result<()> {
    const ANSWER: Duration = Duration::from_secs(1);
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let _held = stores.old_alone()?.acquire("a").await?;
    stores.old.inject(Operation::Inspect, Fault::Stall);
    // In MySQL it inserts a row, and deletes that at its end (K12).
    let taken = both.acquire("a").wait(WAIT).await;
    assert_eq!(refused(taken, ""), ErrorKind::Contended);
    let clock = Clock::pausable();
    let before = clock.now();
    let answer = async {
        tokio::time::sleep(ANSWER).await;
        stores.old.clear_faults();
    };
    let end = async {
        both.shutdown(WAIT).await?;
        Ok(clock.now().since(before))
    };
    let (ended, ()): (Result<_>, ()) = tokio::join!(end, answer);
    assert_eq!(ended?, ANSWER);
    Ok(())
}

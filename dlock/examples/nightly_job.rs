//! A job that cron starts on every machine and that runs once. A process that does not get the lock exits.
//! The process that gets it first checks whether the job was done already, as an earlier holder may have
//! finished in time.
//!
//! `cargo run -p dlock-rs --example nightly_job`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, fs, path::Path, time::Duration};

use dlock::Locker;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let url = format!("file:{}", directory.path().join("locks").display());
    let report = directory.path().join("report-2026-08-31");

    // Two machines at midnight; a third one whose clock is late.
    let (one, two) = tokio::join!(
        nightly("machine 1", &url, &report),
        nightly("machine 2", &url, &report)
    );
    one.and(two)?;
    nightly("machine 3", &url, &report).await?;
    println!("the report says: {}", fs::read_to_string(&report)?);
    Ok(())
}

async fn nightly(machine: &str, url: &str, report: &Path) -> Result<(), Failure> {
    let locks = dlock::connect(url).await?;
    run_once(machine, &locks, report).await?;
    locks.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

async fn run_once(machine: &str, locks: &Locker, report: &Path) -> Result<(), Failure> {
    let Some(guard) = locks.try_acquire("nightly-report").note(machine).await? else {
        println!("{machine}: another machine is at it");
        return Ok(());
    };
    if report.exists() {
        println!("{machine}: it is done already");
    } else {
        guard.run(make_report(machine, report)).await??;
        println!("{machine}: done");
    }
    guard.release().await?;
    Ok(())
}

async fn make_report(machine: &str, report: &Path) -> Result<(), Failure> {
    tokio::time::sleep(Duration::from_millis(200)).await;
    fs::write(report, format!("all is well, writes {machine}"))?;
    Ok(())
}

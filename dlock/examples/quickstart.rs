//! The three ways to take a lock. Give another store as an argument:
//! `cargo run -p dlock-rs --example quickstart -- file:/tmp/locks`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, time::Duration};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "memory:".to_owned());
    let locks = dlock::connect(&url).await?;

    // Waits for the lock, runs the body, drops it if the lock is lost, and always releases.
    let total = locks
        .scope("invoices/2026-08", async |guard| {
            println!("{}: invoicing under token {}", guard.name(), guard.token());
            Ok::<_, dlock::Error>(1230)
        })
        .await?;
    println!("invoices/2026-08: invoiced {total}");

    // Takes it or does not: contention is no error.
    if let Some(guard) = locks.try_acquire("nightly-report").await? {
        println!("{}: mine", guard.name());
        assert!(locks.try_acquire("nightly-report").await?.is_none());
        println!("nightly-report: taken, as another acquire sees it");
        guard.release().await?;
    }

    // Waits as long as you say.
    let seat = locks.acquire("seat/14C").note("checkout 77").await?;
    if let Some(holder) = locks.inspect("seat/14C").await? {
        let (pid, note) = (
            holder.pid.unwrap_or_default(),
            holder.note.unwrap_or_default(),
        );
        println!("seat/14C: held by process {pid} for {note:?}");
    }
    match locks
        .acquire("seat/14C")
        .wait(Duration::from_millis(50))
        .await
    {
        Err(error) if error.kind() == dlock::ErrorKind::Contended => println!("{error}"),
        other => println!("unexpected: {other:?}"),
    }
    seat.release().await?;
    locks.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

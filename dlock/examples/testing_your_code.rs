//! How to test that your own code stops when its lock is lost: give it a locker over [`Memory`], which can
//! be made to fail. The test at the end runs here as the program.
//!
//! `cargo run -p dlock-rs --example testing_your_code`

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "an example that is a test"
)]

use std::{
    error::Error,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use dlock::{ErrorKind, Fault, Locker, LostCause, Memory, Operation};
use tokio::sync::mpsc;

/// Your code: sends invoices, one after the other, while it holds the lock.
async fn send_invoices(
    locks: &Locker,
    mut invoices: mpsc::Receiver<u32>,
    sent: &AtomicU32,
) -> dlock::Result<()> {
    locks
        .scope("invoices", async |_guard| {
            while let Some(invoice) = invoices.recv().await {
                sent.store(invoice, Ordering::Relaxed);
            }
            Ok(())
        })
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    it_stops_when_the_lock_is_lost().await?;
    it_does_nothing_when_the_store_is_down().await?;
    println!("both tests pass");
    Ok(())
}

async fn it_stops_when_the_lock_is_lost() -> Result<(), Box<dyn Error>> {
    let store = Memory::new();
    let locks = Locker::builder(store.clone()).build()?;
    let (queue, invoices) = mpsc::channel(1);
    let sent = AtomicU32::new(0);

    let work = send_invoices(&locks, invoices, &sent);
    let trouble = async {
        queue.send(1).await?;
        // Two more fit only when the first was taken out: by now the work is under way.
        queue.send(2).await?;
        queue.send(3).await?;
        store.revoke("invoices");
        // The work is dropped, and its end of the queue with it.
        queue.closed().await;
        Ok::<_, Box<dyn Error>>(())
    };
    let (result, trouble) = tokio::join!(work, trouble);
    trouble?;

    let error = result.expect_err("the lock was lost");
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert_eq!(error.lost_cause(), Some(LostCause::Removed));
    println!("after invoice {}: {error}", sent.load(Ordering::Relaxed));
    Ok(())
}

async fn it_does_nothing_when_the_store_is_down() -> Result<(), Box<dyn Error>> {
    let store = Memory::new();
    store.inject(Operation::Acquire, Fault::LoseRequest);
    let locks = Locker::builder(store)
        .wait(Duration::from_millis(100))
        .build()?;
    let (queue, invoices) = mpsc::channel(1);
    queue.send(1).await?;
    let sent = AtomicU32::new(0);

    let error = send_invoices(&locks, invoices, &sent)
        .await
        .expect_err("the store is down");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(sent.load(Ordering::Relaxed), 0);
    println!("the store is down: {error}");
    Ok(())
}

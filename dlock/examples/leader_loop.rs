//! A loop that only the leader runs. Candidates wait for one lock, and the next one takes over when the leader
//! steps down or is lost. Start it in several terminals with one store: `cargo run -p dlock-rs --example
//! leader_loop -- file:/tmp/locks`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, time::Duration};

use dlock::{ErrorKind, Guard, Locker};

/// How many times a leader works before it steps down; a service would go on.
const ROUNDS: u32 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let default = format!("file:{}", directory.path().display());
    let url = std::env::args().nth(1).unwrap_or(default);

    // Each candidate has a locker of its own, as if it were a process of its own.
    let mut candidates = tokio::task::JoinSet::new();
    for id in 1..=3 {
        let locks = dlock::connect(&url).await?;
        candidates.spawn(async move { campaign(id, &locks).await });
    }
    while let Some(ended) = candidates.join_next().await {
        ended??;
    }
    Ok(())
}

/// Waits to become the leader, leads, and campaigns again if the lead was lost.
async fn campaign(id: u32, locks: &Locker) -> dlock::Result<()> {
    loop {
        let guard = locks
            .acquire("leader")
            .wait_forever()
            .note(&format!("candidate {id}"))
            .await?;
        match lead(id, &guard).await {
            Ok(()) => return guard.release().await,
            Err(error) if error.kind() == ErrorKind::Lost => println!("candidate {id}: {error}"),
            Err(error) => return Err(error),
        }
    }
}

async fn lead(id: u32, guard: &Guard) -> dlock::Result<()> {
    println!("candidate {id} leads, term {}", guard.token());
    // When the lock is lost, the work is dropped at its current await point.
    guard
        .run(async {
            for round in 1..=ROUNDS {
                println!("candidate {id}: round {round}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await
}

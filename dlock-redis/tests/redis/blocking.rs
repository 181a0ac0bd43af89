//! Programs without a runtime, on a real server.

use dlock::blocking;
use dlock_servers::Program;

use crate::support::{Outcome, TTL_LONG, cases, connect, locks, start, take};

cases![k04_the_end_of_a_program_without_a_runtime_leaves_nothing_locked];

/// A `main` that neither releases its locks nor shuts its locker down.
fn hold_to_the_end(url: &str) -> dlock::Result<()> {
    let locks = blocking::connect(url)?;
    let _first = locks.acquire("a").lock()?;
    let _second = locks.acquire("b").lock()?;
    Ok(())
}

async fn k04_the_end_of_a_program_without_a_runtime_leaves_nothing_locked(
    program: Program,
) -> Outcome {
    const ROUNDS: usize = 10;
    let node = start(&program, &[]).await?;
    let other = connect(node.address(), "").await?;
    let ttl = TTL_LONG.as_secs();
    let url = format!("redis://{}?restart_guard=0s&ttl={ttl}s", node.address());
    for _ in 0..ROUNDS {
        let url = url.clone();
        tokio::task::spawn_blocking(move || hold_to_the_end(&url)).await??;
        // Nothing waits here: the process could have ended.
        assert_eq!(locks(&node).await?, [""; 0]);
        take(&other, "a").await?.release().await?;
    }
    Ok(())
}

//! A server that forgets its scripts (T6).

use std::sync::atomic::{AtomicBool, Ordering};

use dlock_servers::Program;

use crate::support::{Outcome, cases, connect, start, until_clean};

cases![t06_script_flush_in_a_loop_fails_nothing];

async fn t06_script_flush_in_a_loop_fails_nothing(program: Program) -> Outcome {
    const TASKS: usize = 4;
    const ROUNDS: usize = 100;
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let over = AtomicBool::new(false);
    let flush = async {
        let mut flushes = 0;
        while !over.load(Ordering::Relaxed) {
            node.command(&["SCRIPT", "FLUSH"]).await?;
            flushes += 1;
        }
        Outcome::Ok(flushes)
    };
    // Each name has two that contend for it, so that waiters are flushed under too.
    let work = async |task: usize| {
        let name = (task / 2).to_string();
        for _ in 0..ROUNDS {
            let guard = locker.acquire(&name).await?;
            guard.renew().await?;
            guard.release().await?;
        }
        Outcome::Ok(())
    };
    let all = async {
        let done = tokio::join!(work(0), work(1), work(2), work(3));
        over.store(true, Ordering::Relaxed);
        done
    };
    let (done, flushes) = tokio::join!(all, flush);
    for task in [done.0, done.1, done.2, done.3] {
        task?;
    }
    let requests = TASKS * ROUNDS * 3;
    assert!(requests >= 1_000 && flushes? > 100);
    until_clean(&node).await
}

//! A move between two stores while worker processes lock, step by step as in `docs/moving.md`.
//!
//! Workers are restarted with the URL of the next step, and of the one before. They are killed and stopped. Each store
//! is silent for a while, and is restarted, in each phase and while the switch waits. A worker that keeps the old URL is
//! refused then. The history of all workers has no two holders, and its tokens grow.
//!
//! `DLOCK_TEST_ROUNDS` says how many moves are made; the seed of a move is its number. In turns they go from Redis to
//! etcd, from etcd to Redis, from Redis to ZooKeeper, and from MySQL to Redis.

mod book;
mod faults;
mod figures;
mod fleet;
mod phases;
mod protocol;
mod stores;
mod worker;

use std::process::ExitCode;

use dlock_verify::support::{self, if_available};
use libtest_mimic::Trial;

/// Each has servers and workers of its own, and the machine may have few processors.
const THREADS: usize = 1;

fn main() -> ExitCode {
    if let Some(code) = worker::serve_if_worker() {
        return code;
    }
    let trials = vec![
        Trial::test("a_move_while_locks_are_used", phases::whole_moves),
        Trial::test(
            "a_switch_with_the_old_store_alone_left",
            phases::without_barrier,
        ),
    ];
    let trials = if_available("redis and etcd", stores::available(), trials);
    support::main(THREADS, trials)
}

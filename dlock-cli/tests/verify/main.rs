//! `dlock verify` on real servers: what it finds, and what it leaves behind.

mod etcd;
mod file;
mod mysql;
mod quorum;
mod redis;
mod stop;
mod support;
mod traffic;
mod usage;
mod zk;

use std::process::ExitCode;

/// How many cases run at once: each has a server, and waits for a good part of a minute.
const THREADS: usize = 10;

fn main() -> ExitCode {
    let mut trials = file::trials();
    trials.extend(usage::trials());
    trials.extend(etcd::trials());
    trials.extend(mysql::trials());
    trials.extend(quorum::trials());
    trials.extend(redis::trials());
    trials.extend(zk::trials());
    dlock_verify::support::main(THREADS, trials)
}

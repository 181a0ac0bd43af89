//! Every fault of the stores once, as `cargo xtask chaos --ci`: each store is a case, two at a time.

use std::{
    io::{self, Write as _},
    process::{Command, ExitCode},
};

use dlock_servers::{etcd, mysql, redis, zk};
use dlock_verify::{
    ensure,
    support::{self, Outcome, if_available},
};
use libtest_mimic::Trial;

/// How many stores run at once, as without this program.
const THREADS: usize = 2;

fn main() -> ExitCode {
    let found = [
        ("etcd", etcd::Flavour::Newest.find().map(drop)),
        ("zk", zk::Flavour::Newest.find().map(drop)),
        ("mysql", mysql::Flavour::MySqlNewest.find().map(drop)),
        ("redis", redis::Flavour::RedisStable.find().map(drop)),
        ("file", Ok(())),
    ];
    let trials = found.into_iter().flat_map(|(store, found)| {
        let trial = Trial::test(format!("{store}::every_fault"), move || every_fault(store));
        if_available(store, found, vec![trial])
    });
    support::main(THREADS, trials)
}

fn every_fault(store: &str) -> Outcome {
    let mut chaos = Command::new(env!("CARGO_BIN_EXE_dlock-chaos"));
    let ended = chaos.args([store, "--ci"]).output()?;
    let text = String::from_utf8_lossy(&ended.stdout);
    ensure!(ended.status.success(), "{text}");
    // How much was tried.
    for line in text.lines().filter(|line| line.contains("TOTAL")) {
        let _ = writeln!(io::stderr(), "{line}");
    }
    Ok(())
}

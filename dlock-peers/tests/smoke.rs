//! Each client of Redis that is installed without a build of its own: its program starts, answers each request, and its
//! figures are kept.

use std::{collections::BTreeMap, error::Error, fs, process::Command, process::ExitCode};

use dlock_servers::redis::Flavour;
use dlock_verify::support::if_available;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

const CLIENTS: &str = "dlock,raw,rslock,node-redlock,redis-py";

/// The workloads that a client has figures of, if it waits.
const WORKLOADS: [&str; 4] = ["one", "many", "hand_over", "contended"];

fn main() -> ExitCode {
    let trial = Trial::test("each_client_answers_each_request", || {
        smoke().map_err(Failed::from)
    });
    let flavour = Flavour::RedisStable;
    let trials = if_available(flavour.name(), flavour.find(), vec![trial]);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn smoke() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("peers.json");
    let status = Command::new(env!("CARGO_BIN_EXE_dlock-peers"))
        .args([
            "redis",
            "--rounds",
            "1",
            "--seconds",
            "0.05",
            "--only",
            CLIENTS,
            "--record",
        ])
        .arg(&file)
        .status()?;
    assert!(status.success(), "{status}");
    let run: Value = serde_json::from_slice(&fs::read(file)?)?;
    let clients = run["stores"][0]["clients"].as_array().ok_or("no clients")?;
    let count = |client: &Value| {
        let measured = WORKLOADS
            .iter()
            .filter(|workload| client[**workload].is_object());
        measured.count()
    };
    let mut workloads = BTreeMap::new();
    for client in clients.iter().filter(|client| client["again"] == false) {
        let name = client["name"].as_str().unwrap_or_default();
        match client["missing"].as_str() {
            Some(why) => assert!(why.contains("cargo xtask setup"), "{name}: {why}"),
            None => drop(workloads.insert(name, count(client))),
        }
    }
    assert_eq!(
        (workloads["dlock"], workloads["rslock"], workloads["raw"]),
        (4, 4, 2)
    );
    let others = ["node-redlock", "redis-py"].into_iter();
    assert!(
        others
            .filter_map(|name| workloads.get(name))
            .all(|count| *count == 4)
    );
    Ok(())
}

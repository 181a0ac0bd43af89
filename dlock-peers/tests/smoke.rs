//! Each client of Redis that is installed without a build of its own: its program starts, answers each request, and its
//! figures are kept. The stores and workloads that only clients in Rust have are tried with those.

use std::{collections::BTreeMap, error::Error, fs, process::Command, process::ExitCode};

use dlock_servers::redis::Flavour;
use dlock_verify::support::if_available;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

type Tried = Result<(), Box<dyn Error>>;

const CLIENTS: &str = "dlock,raw,rslock,node-redlock,redis-py";

/// The workloads that a client has figures of, if it waits and its program is in Rust.
const WORKLOADS: [&str; 7] = [
    "one",
    "many",
    "once_one",
    "once_many",
    "apart",
    "hand_over",
    "contended",
];

fn main() -> ExitCode {
    let trial = |name, test: fn() -> Tried| Trial::test(name, move || test().map_err(Failed::from));
    let trials = vec![
        trial("each_client_answers_each_request", smoke),
        trial("a_cluster_has_cycles", cluster),
        trial("a_delay_is_measured_with_tls", delayed),
        trial("the_tries_of_a_herd_are_counted", herd),
    ];
    let flavour = Flavour::RedisStable;
    let trials = if_available(flavour.name(), flavour.find(), trials);
    let mut arguments = Arguments::from_args();
    // Mostly they wait, for a Cluster that agrees or a client that polls.
    arguments.test_threads.get_or_insert(trials.len());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The figures of a run of one round.
fn measured(words: &[&str]) -> Result<Value, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("peers.json");
    let status = Command::new(env!("CARGO_BIN_EXE_dlock-peers"))
        .args(["--rounds", "1", "--seconds", "0.05", "--contention", "0.2"])
        .arg("--record")
        .arg(&file)
        .args(words)
        .status()?;
    assert!(status.success(), "{status}");
    let mut run: Value = serde_json::from_slice(&fs::read(file)?)?;
    Ok(run["stores"][0].take())
}

fn clients(run: &Value) -> Result<&Vec<Value>, Box<dyn Error>> {
    Ok(run["clients"].as_array().ok_or("no clients")?)
}

fn smoke() -> Tried {
    let workloads = "cycles,once,apart,handover,contention";
    let run = measured(&["redis", "--only", CLIENTS, "--workloads", workloads])?;
    let count = |client: &Value| {
        let measured = WORKLOADS
            .iter()
            .filter(|workload| client[**workload].is_object());
        measured.count()
    };
    let mut workloads = BTreeMap::new();
    for client in clients(&run)?
        .iter()
        .filter(|client| client["again"] == false)
    {
        let name = client["name"].as_str().unwrap_or_default();
        match client["missing"].as_str() {
            Some(why) => assert!(why.contains("cargo xtask setup"), "{name}: {why}"),
            None => drop(workloads.insert(name, count(client))),
        }
    }
    assert_eq!(
        (workloads["dlock"], workloads["rslock"], workloads["raw"]),
        (7, 7, 5)
    );
    let others = ["node-redlock", "redis-py"].into_iter();
    assert!(
        others
            .filter_map(|name| workloads.get(name))
            .all(|count| *count == 4)
    );
    Ok(())
}

fn cluster() -> Tried {
    let run = measured(&["redis-cluster", "--workloads", "cycles,once"])?;
    // dlock, the driver alone, and dlock again.
    assert_eq!(clients(&run)?.len(), 3);
    for client in clients(&run)? {
        let (one, once) = (&client["one"], &client["once_many"]);
        assert!(one.is_object() && once.is_object(), "{client}");
    }
    Ok(())
}

fn delayed() -> Tried {
    let words = ["redis-tls", "--delay", "5", "--workloads", "handover"];
    let run = measured(&words)?;
    let round_trip = run["round_trip_ms"]["value"].as_f64().ok_or("none")?;
    assert!(round_trip > 9.0, "{round_trip}");
    let round_trips = &clients(&run)?[0]["hand_over"]["round_trips"];
    assert!(round_trips["value"].is_f64(), "{round_trips}");
    Ok(())
}

fn herd() -> Tried {
    let words = ["--only", "dlock", "--workloads", "herd", "--herd", "20"];
    let run = measured(&[&["redis"], &words[..]].concat())?;
    let herds = clients(&run)?[0]["herds"].as_array().ok_or("no herds")?;
    assert_eq!(herds.len(), 2);
    for herd in herds {
        let tries = herd["tries"]["value"].as_f64().ok_or("no tries")?;
        assert!(tries >= 1.0, "{herd}");
    }
    Ok(())
}

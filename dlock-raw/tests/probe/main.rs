//! Probes of real servers: each finding by its id, and none on servers that are set up well.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored.

mod etcd;
mod file;
mod mysql;
mod redis;
mod residue;
mod support;
mod zk;

use std::process::ExitCode;

use dlock_servers::SetClock;
use dlock_verify::support::if_available;
use libtest_mimic::Trial;

use self::support::Flavour;

/// The library for the cases with a clock of their own.
const CLOCK: &str = "libfaketime";

/// Each case has servers of its own.
const THREADS: usize = 4;

fn main() -> ExitCode {
    let flavours = Flavour::all().into_iter().chain([Flavour::Files]);
    dlock_verify::support::main(THREADS, flavours.flat_map(trials))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let mut trials = residue::trials(flavour);
    match flavour {
        Flavour::Files => trials.extend(file::trials(flavour)),
        Flavour::Etcd(_) => {
            trials.extend(etcd::member::trials(flavour));
            trials.extend(etcd::cluster::trials(flavour));
            trials.extend(etcd::access::trials(flavour));
        }
        Flavour::MySql(kind) => {
            trials.extend(mysql::server::trials(flavour));
            trials.extend(mysql::replicas::trials(flavour));
            if kind == dlock_servers::mysql::Flavour::MariaDbStable {
                let galera = mysql::galera::trials(flavour);
                trials.extend(if_available(
                    "galera",
                    dlock_servers::mysql::Galera::find(),
                    galera,
                ));
            }
        }
        Flavour::Zk(_) => trials.extend(zk::trials(flavour)),
        Flavour::Redis(kind) => {
            trials.extend(redis::server::trials(flavour));
            trials.extend(redis::replicas::trials(flavour));
            trials.extend(redis::access::trials(flavour));
            // The newer ones do not run with another library for the time.
            if kind == dlock_servers::redis::Flavour::RedisStable {
                let clocks = redis::clocks::trials(flavour);
                trials.extend(if_available(CLOCK, SetClock::library(), clocks));
            }
        }
    }
    if_available(&flavour.name(), flavour.find(), trials)
}

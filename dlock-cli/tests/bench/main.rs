//! `dlock bench` on real servers: every workload is measured, and nothing is left, also after Ctrl-C.

mod all;
mod interrupt;
mod lost;
mod server;

use std::{process::ExitCode, time::Duration};

use dlock_verify::support::{self, Outcome, if_available};
use libtest_mimic::Trial;

/// How many cases run at once: each has a server of its own.
const THREADS: usize = 6;

/// The bound of a case: all workloads on one server, and its start.
const CASE_MAX: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    let trials = [
        of::<server::Etcd>(),
        of::<server::MySql>(),
        of::<server::Redis>(),
        of::<server::Zk>(),
    ];
    support::main(THREADS, trials.into_iter().flatten())
}

/// The cases on one kind of server.
fn of<S: server::Server + 'static>() -> Vec<Trial> {
    let trials = vec![
        trial::<S, _>(
            "all_workloads_are_measured",
            all::all_workloads_are_measured::<S>,
        ),
        trial::<S, _>("ctrl_c_in_the_rounds", interrupt::in_the_rounds::<S>),
        trial::<S, _>(
            "ctrl_c_among_names_used_once",
            interrupt::among_names_used_once::<S>,
        ),
        trial::<S, _>("ctrl_c_in_the_take_overs", interrupt::in_the_takeovers::<S>),
        trial::<S, _>(
            "ctrl_c_while_locks_are_held",
            interrupt::while_locks_are_held::<S>,
        ),
        trial::<S, _>(
            "ctrl_c_in_the_verification",
            interrupt::in_the_verification::<S>,
        ),
        trial::<S, _>(
            "a_store_that_is_lost_keeps_what_was_measured",
            lost::a_store_that_is_lost_keeps_what_was_measured::<S>,
        ),
    ];
    if_available(S::NAME, S::find(), trials)
}

fn trial<S: server::Server, F>(name: &str, case: impl FnOnce() -> F + Send + 'static) -> Trial
where
    F: Future<Output = Outcome>,
{
    let name = format!("{}::{name}", S::NAME);
    Trial::test(name, move || support::run(CASE_MAX, case()))
}

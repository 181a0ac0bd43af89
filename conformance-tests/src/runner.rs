//! The entry point of a test binary.

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use libtest_mimic::{Arguments, Trial};

use crate::{suite::suite, target::Target, worker};

/// Targets that must be available: `all`, or names separated by commas.
const REQUIRE_ENV: &str = "DLOCK_TEST_REQUIRE";

/// How many cases run at once unless `--test-threads` says otherwise: they mostly wait, so more than
/// there are processors, but each process and runtime more makes the machine's pauses longer.
const THREADS: usize = 6;

/// Runs the [`suite`] of each target as the arguments of the program say, which are those of every
/// Rust test binary; or serves as a worker process, when started as one.
///
/// The targets are dropped before it returns, so a target may stop its server then.
#[must_use]
pub fn main(targets: Vec<Arc<dyn Target>>) -> ExitCode {
    if let Some(code) = worker::serve_if_asked(&targets) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let required = env::var(REQUIRE_ENV).unwrap_or_default();
    let trials = targets
        .iter()
        .flat_map(|target| trials(target, &required))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The suite of a target; all ignored when it is missing, or one failure when it is required.
fn trials(target: &Arc<dyn Target>, required: &str) -> Vec<Trial> {
    let trials = suite(target.clone());
    let Err(reason) = target.available() else {
        return trials;
    };
    let name = target.name();
    if is_required(name, required) {
        let reason = format!("{name} is required by {REQUIRE_ENV}, but {reason}");
        return vec![Trial::test(format!("{name}::available"), move || {
            Err(reason.into())
        })];
    }
    // A test that cannot run must not look like one that passed. Nothing depends on this line.
    let _ = writeln!(io::stderr(), "{name} is not tested: {reason}");
    trials
        .into_iter()
        .map(|trial| trial.with_ignored_flag(true))
        .collect()
}

fn is_required(name: &str, required: &str) -> bool {
    required
        .split(',')
        .map(str::trim)
        .any(|word| word == "all" || word == name)
}

#[cfg(test)]
mod tests {
    use dlock_core::{
        Capabilities, DistributedLock, Error, ErrorKind, Memory, Result, async_trait,
    };

    use super::*;

    #[derive(Debug)]
    struct Missing;

    #[async_trait]
    impl Target for Missing {
        fn name(&self) -> &str {
            "missing"
        }

        fn capabilities(&self) -> Capabilities {
            Memory::new().capabilities()
        }

        async fn address(&self) -> Result<String> {
            Err(Error::new(ErrorKind::Unavailable, "not installed"))
        }

        async fn connect(&self, _: &str) -> Result<Arc<dyn DistributedLock>> {
            Err(Error::new(ErrorKind::Unavailable, "not installed"))
        }

        fn available(&self) -> Result<(), String> {
            Err("it is not installed".to_owned())
        }
    }

    #[test]
    fn what_is_missing_is_ignored_by_name() {
        let target: Arc<dyn Target> = Arc::new(Missing);
        let trials = trials(&target, "other");
        assert!(trials.len() > 50, "{} cases", trials.len());
        assert!(
            trials
                .iter()
                .all(|trial| trial.name().starts_with("missing::"))
        );
        assert!(trials.iter().all(Trial::has_ignored_flag));
    }

    #[test]
    fn what_is_missing_but_required_fails() {
        let target: Arc<dyn Target> = Arc::new(Missing);
        let quiet = Arguments::from_iter(["", "--logfile", "/dev/null"]);
        for required in ["all", "other, missing"] {
            let trials = trials(&target, required);
            let conclusion = libtest_mimic::run(&quiet, trials);
            assert_eq!((conclusion.num_failed, conclusion.num_passed), (1, 0));
        }
    }

    #[test]
    fn targets_are_required_by_name_or_all_at_once() {
        assert!(is_required("redis", "all"));
        assert!(is_required("redis", "etcd, redis"));
        assert!(!is_required("redis", "etcd,redis-cluster"));
        assert!(!is_required("redis", ""));
    }
}

//! Tests of a server that is missing: ignored, or failed where it is required.

use std::{
    env,
    io::{self, Write},
};

use libtest_mimic::Trial;

/// The backends and servers that must be available: `all`, or names separated by commas.
const REQUIRE_ENV: &str = "DLOCK_TEST_REQUIRE";

/// All clients of other projects.
const CLIENTS: &str = "clients";

/// The trials of the backend or server `name`, ignored if it was not found.
///
/// A line on standard error says why. If `DLOCK_TEST_REQUIRE` names it, one failure replaces the trials.
#[must_use]
pub fn if_available<T>(name: &str, found: Result<T, String>, trials: Vec<Trial>) -> Vec<Trial> {
    let required = env::var(REQUIRE_ENV).unwrap_or_default();
    require_or_ignore(name, found, trials, &required)
}

/// The trials with another project's client `name`, ignored if it was not found. It is required by its own name or by
/// `clients`, and not by `all`: `cargo xtask setup` goes on without it.
#[must_use]
pub fn if_client_available<T>(
    name: &str,
    found: Result<T, String>,
    trials: Vec<Trial>,
) -> Vec<Trial> {
    let required = env::var(REQUIRE_ENV).unwrap_or_default();
    let words = required.split(',').map(str::trim);
    let is_required = words
        .into_iter()
        .any(|word| word == CLIENTS || word == name);
    let required = if is_required { name } else { "" };
    require_or_ignore(name, found, trials, required)
}

fn require_or_ignore<T>(
    name: &str,
    found: Result<T, String>,
    trials: Vec<Trial>,
    required: &str,
) -> Vec<Trial> {
    let Err(reason) = found else {
        return trials;
    };
    if is_required(name, required) {
        let reason = format!("{name} is required by {REQUIRE_ENV}, but {reason}");
        return vec![Trial::test(format!("{name}::available"), move || {
            Err(reason.into())
        })];
    }
    // A test that cannot run must not appear as one that passed. Nothing depends on this line.
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
    use libtest_mimic::Arguments;

    use super::*;

    fn missing(required: &str) -> Vec<Trial> {
        let trials = ["one", "two"].map(|name| Trial::test(name, || Ok(())));
        let found = Err::<(), _>("it is not installed".to_owned());
        require_or_ignore("missing", found, trials.into(), required)
    }

    #[test]
    fn what_is_missing_is_ignored() {
        let trials = missing("other");
        assert_eq!(trials.len(), 2);
        assert!(trials.iter().all(Trial::has_ignored_flag));
    }

    #[test]
    fn what_is_missing_but_required_fails() {
        let quiet = Arguments::from_iter(["", "--logfile", "/dev/null"]);
        for required in ["all", "other, missing"] {
            let conclusion = libtest_mimic::run(&quiet, missing(required));
            assert_eq!((conclusion.num_failed, conclusion.num_passed), (1, 0));
        }
    }

    #[test]
    fn required_is_what_is_named_or_all() {
        assert!(is_required("redis", "all"));
        assert!(is_required("redis", "etcd, redis"));
        assert!(!is_required("redis", "etcd,redis-cluster"));
        assert!(!is_required("redis", ""));
    }
}

//! Mutation tests of the suite: each backend here breaks one clause, and a case of that clause reports it.

mod mutants;
mod remote;

use std::{
    fmt,
    process::ExitCode,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use async_trait::async_trait;
use conformance_tests::{
    Backdoor, Target,
    interpose::{Interpose, Interposed},
    suite,
};
use dlock_core::{
    Capabilities, LockName, Result, backend::DistributedLock, memory::Memory, toolkit::Lock,
};
use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::NamedTempFile;

use crate::remote::{Flaw, Remote};

/// How many mutants run at once by default: they wait for what does not come.
const THREADS: usize = 10;

/// A memory store with something wrong in front of it.
struct Broken {
    store: Memory,
    how: Arc<dyn Interpose>,
}

#[async_trait]
impl Target for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn address(&self) -> Result<String> {
        Ok("broken:".to_owned())
    }

    async fn connect(&self, _: &str) -> Result<Box<dyn DistributedLock>> {
        let inner = self.store.clone();
        Ok(Box::new(Interposed::new(inner, self.how.clone())))
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }

    /// Most of what is broken shows itself by something that does not come.
    fn tolerance(&self) -> Duration {
        Duration::from_secs(2)
    }
}

#[async_trait]
impl Backdoor for Broken {
    async fn remove(&self, _: &str, name: &LockName) -> Result<()> {
        self.store.expire(name.as_str());
        Ok(())
    }

    async fn residue(&self, _: &str) -> Result<Vec<String>> {
        Ok(self.store.names().iter().map(ToString::to_string).collect())
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broken")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// Breaks nothing: the cases that catch the mutants pass.
struct Correct;

impl Interpose for Correct {}

/// A mutant, and the case that must catch it with this message.
struct Mutant {
    name: &'static str,
    case: &'static str,
    message: &'static str,
    correct: fn() -> Made,
    broken: fn() -> Made,
}

type Made = Result<Arc<dyn Target>, Failed>;

impl Mutant {
    /// The trial that the case passes without the mutation, and fails with it for the right reason.
    fn trial(self) -> Trial {
        let Self {
            name,
            case,
            message,
            correct,
            broken,
        } = self;
        Trial::test(format!("{name} is caught by {case}"), move || {
            let report = run(case, correct()?)?;
            if report.contains(FAILED) {
                return Err(Failed::from(format!(
                    "it fails where nothing is wrong: {report}"
                )));
            }
            let report = run(case, broken()?)?;
            if !(report.contains(FAILED) && report.contains(message)) {
                return Err(Failed::from(format!(
                    "it does not say {message:?}: {report}"
                )));
            }
            Ok(())
        })
    }
}

/// The part of a report that shows a failure.
const FAILED: &str = "test result: FAILED. 0 passed; 1 failed";

/// Runs one case, and returns its report.
fn run(case: &str, target: Arc<dyn Target>) -> Result<String, Failed> {
    let report = NamedTempFile::new()?;
    let trials = suite(target);
    let (name, path) = (
        format!("broken::{case}"),
        report.path().display().to_string(),
    );
    let arguments = Arguments::from_iter(["mutants", "--exact", &name, "--logfile", &path]);
    let conclusion = libtest_mimic::run(&arguments, trials);
    if conclusion.num_passed + conclusion.num_failed != 1 {
        return Err(Failed::from(format!("there is no case {case}")));
    }
    Ok(std::fs::read_to_string(report.path())?)
}

/// A memory store with this in front of it.
fn memory(breakage: impl FnOnce(&Memory) -> Arc<dyn Interpose>) -> Made {
    let store = Memory::new();
    let how = breakage(&store);
    Ok(Arc::new(Broken { store, how }))
}

/// A store at the other end of a link.
fn remote(flaw: Flaw) -> Made {
    Ok(Arc::new(Remote::start(flaw)?))
}

fn one() -> AtomicU64 {
    AtomicU64::new(1)
}

/// The mutant of this name, the case that catches it, and the message of that case.
macro_rules! mutant {
    ($mutant:ident $(($value:expr))?, $case:literal, $message:literal) => {
        mutant!(|_| mutants::$mutant $(($value))?, stringify!($mutant), $case, $message)
    };
    (|$store:pat_param| $make:expr, $mutant:expr, $case:literal, $message:literal) => {
        Mutant {
            name: $mutant,
            case: $case,
            message: $message,
            correct: || memory(|_| Arc::new(Correct)),
            broken: || memory(|$store| Arc::new($make)),
        }
    };
}

/// The same for a store at the other end of a link.
macro_rules! remote_mutant {
    ($flaw:ident, $case:literal, $message:literal) => {
        Mutant {
            name: stringify!($flaw),
            case: $case,
            message: $message,
            correct: || remote(Flaw::None),
            broken: || remote(Flaw::$flaw),
        }
    };
}

#[rustfmt::skip]
fn all() -> Vec<Mutant> {
    vec![
        mutant!(GrantsTwice(one()), "k01_exclusion::tasks_of_one_client", "was held twice"),
        mutant!(GrantsTwice(one()), "k01_exclusion::many_clients", "was held twice"),
        mutant!(ForgetsModes(one()), "k01_exclusion::shared_ones_hold_together", "is free, but"),
        mutant!(ForgetsModes(one()), "k01_exclusion::shared_and_exclusive_ones", "was held twice"),
        mutant!(NoMargin, "k02_deadline::a_margin_of_the_ttl_is_given_up", "at most may"),
        remote_mutant!(CountsFromReply, "k02_deadline::a_slow_network_does_not_extend_a_deadline", "later than a request sent in time proves"),
        mutant!(RenewsBlindly, "k03_renewal::an_expired_lock_is_lost_and_stays_free", "was renewed"),
        mutant!(RenewsBlindly, "k03_renewal::a_removed_lock_is_lost_and_stays_free", "was renewed"),
        mutant!(NeverKnowsLoss, "k03_renewal::a_successor_keeps_its_lock", "not renewed"),
        mutant!(NeverKnowsLoss, "k08_loss::it_comes_when_the_lock_is_removed", "never knew"),
        mutant!(|store| mutants::ReleasesAnybodys(store.clone()), "ReleasesAnybodys",
            "k04_release::a_late_one_spares_the_successor", "is free, but a guard holds it"),
        mutant!(ReleasesOnce(Lock::default()), "k04_release::a_second_one_is_a_success", "not held"),
        mutant!(NeverReleases, "k04_release::it_frees_the_lock", "is taken, but no guard holds it"),
        mutant!(NeverReleases, "k08_loss::it_comes_as_soon_as_the_backend_knows", "is still taken"),
        mutant!(OneToken, "k05_tokens::they_grow_over_releases", "after Some(Token(1))"),
        mutant!(OneToken, "k01_exclusion::many_clients", "do not grow"),
        mutant!(FreshTokens(one()), "k05_tokens::a_retried_attempt_gets_the_same", "when retried"),
        mutant!(Polls, "k06_waiting::a_release_wakes_the_next_one", "woken by polling"),
        mutant!(EatsTheTtl, "k06_waiting::waiting_does_not_eat_the_ttl", "ended"),
        mutant!(SaysNothing, "k06_waiting::a_wait_ends_contended_in_time", "a lock that is taken"),
        mutant!(LeavesItBehind, "k07_cancellation::at_each_poll_of_the_backend", "is still taken"),
        mutant!(LeavesItBehind, "k07_cancellation::at_each_poll_of_the_caller", "is still taken"),
        mutant!(WaitsOn, "k07_cancellation::one_who_leaves_does_not_block_those_behind", "shutdown timed out"),
        mutant!(IgnoresCancellation, "k07_cancellation::while_the_lock_stays_taken", "shutdown timed out"),
        mutant!(FoldsCase(Lock::default()), "k10_names::nasty_ones_are_all_different", "another name"),
        mutant!(SeesNoHolder, "k10_names::inspect_finds_the_holder_of_each", "no holder of"),
        mutant!(LeavesTasks, "k12_residue::nothing_after_many_clients", "tasks of the runtime"),
        remote_mutant!(RestartsCount, "k05_tokens::they_grow_over_a_failover_and_back", "token 1 after"),
        remote_mutant!(QueuesTheDead, "k06_waiting::waiters_that_vanished_block_no_other", "the living waiter's grant"),
        remote_mutant!(RestartsCount, "k08_loss::a_removal_on_a_silent_line", "token 1 after"),
        remote_mutant!(RenewsUnheard, "k08_loss::a_removal_on_a_silent_line", "held after its deadline"),
        remote_mutant!(RenewsBlindly, "k08_loss::a_removal_while_the_line_is_cut", "held after its deadline"),
        remote_mutant!(RenewsUnheard, "k08_loss::the_end_of_a_session_on_a_silent_line", "held after its deadline"),
        remote_mutant!(RenewsBlindly, "k08_loss::the_end_of_a_session_while_the_line_is_cut", "held after its deadline"),
        remote_mutant!(RenewsBlindly, "k08_loss::what_the_store_forgets_is_lost", "held after its deadline"),
        remote_mutant!(RestartsCount, "k08_loss::what_the_store_forgets_is_lost", "token 1 after"),
        remote_mutant!(GrantsAtOnce, "k08_loss::the_next_one_waits_until_what_was_forgotten_is_lost", "held beside the next one"),
        remote_mutant!(TakesSilenceForNo, "k09_ambiguity::a_wait_that_ended_in_a_silence_leaves_nothing", "is still taken"),
        remote_mutant!(TakesSilenceForNo, "k09_ambiguity::a_wait_that_was_dropped_in_a_silence_leaves_nothing", "is still taken"),
        remote_mutant!(TakesSilenceForNo, "k09_ambiguity::a_wait_whose_connections_die_leaves_nothing", "is still taken"),
    ]
}

fn main() -> ExitCode {
    let trials = all().into_iter().map(Mutant::trial).collect();
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    libtest_mimic::run(&arguments, trials).exit_code()
}

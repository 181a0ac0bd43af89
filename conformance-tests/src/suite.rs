//! The cases of a target, as trials and one by one, and the entry point of a test binary.

use std::{future::Future, pin::pin, process::ExitCode, sync::Arc, time::Duration};

use dlock_verify::{
    support::{Outcome, if_available, within},
    verdict::Clause,
};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    time::timeout,
};

use crate::{
    case::{Case, CaseContext, Opened, Placement, Profile, Size, Violated},
    clauses,
    target::{Load, Target},
    worker,
};

/// The bound of a case; a case that takes longer hangs.
const CASE_MAX: Duration = Duration::from_secs(180);

/// Threads of a case's runtime, unless it wants one: enough for two tasks to run at the same time.
const WORKER_THREADS: usize = 2;

/// How many cases run at once by default: more than there are processors, as cases mostly wait.
///
/// Each further process and runtime makes the machine's pauses longer.
const THREADS: usize = 14;

/// How long the clients of a stopped case may take to release what they hold.
const STOP_MAX: Duration = Duration::from_secs(2);

/// How often a stopped case is polled for its end.
const STOP_POLL_EVERY: Duration = Duration::from_millis(10);

/// Runs the [`suite`] of each target, or serves as a worker process when started as one.
///
/// The program takes the arguments of every Rust test binary.
///
/// The targets are dropped before it returns, so a target may stop its server in its `Drop`.
#[must_use]
pub fn main(targets: Vec<Arc<dyn Target>>) -> ExitCode {
    if let Some(code) = worker::serve_if_worker(&targets) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let trials = targets
        .iter()
        .flat_map(|target| if_available(target.name(), target.available(), suite(target.clone())))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The cases that apply to `target`, as trials named `target::clause::case`.
///
/// Each trial has its own runtime, clients, lock names and address, so all can run at once. After a case,
/// everything that it opened is shut down; a residue in the store or the runtime fails it (K12).
#[must_use]
pub fn suite(target: Arc<dyn Target>) -> Vec<Trial> {
    let trial = |case: SuiteCase| {
        let name = format!("{}::{}::{}", case.target.name(), case.file, case.name());
        Trial::test(name, move || case.run())
    };
    cases(target).into_iter().map(trial).collect()
}

/// The cases that apply to `target`, for a program that runs them itself.
#[must_use]
pub fn cases(target: Arc<dyn Target>) -> Vec<SuiteCase> {
    let (profile, load) = (Profile::of(&*target), target.load());
    let wanted = |case: &Case| (case.needs)(&profile) && (load == Load::Full || !case.heavy);
    let cases = clauses::all().filter(|(_, case)| wanted(case));
    let of_target = |(file, case)| SuiteCase {
        file,
        case,
        target: target.clone(),
    };
    cases.map(of_target).collect()
}

/// One case that applies to a target.
pub struct SuiteCase {
    /// The name of its clause's file: `"k05_tokens"`.
    file: &'static str,
    case: Case,
    target: Arc<dyn Target>,
}

impl SuiteCase {
    /// The name of the case: `"they_grow_over_releases"`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.case.name
    }

    /// The clause that it is of.
    #[must_use]
    pub fn clause(&self) -> Clause {
        let number = self.file.get(1..3).and_then(|digits| digits.parse().ok());
        let index = number.unwrap_or(1_usize).saturating_sub(1);
        Clause::ALL[index.min(Clause::ALL.len() - 1)]
    }

    /// The most that it has at once, under a gentle load.
    #[must_use]
    pub fn size(&self) -> Size {
        self.case.size
    }

    /// Runs it in a runtime of its own.
    ///
    /// # Errors
    ///
    /// Why it failed.
    ///
    /// # Blocking
    ///
    /// For 180 s at most.
    pub fn run(&self) -> Outcome {
        let ended = self.run_until(std::future::pending());
        let ended = ended.unwrap_or_else(|| Err(CaseFailure::new("stopped")));
        ended.map_err(|failure| failure.why)
    }

    /// Runs it like [`run`](Self::run); `None` if `stopped` ended before it.
    ///
    /// A case that is stopped or fails releases what it holds, for 4 s at most.
    ///
    /// # Blocking
    ///
    /// For 180 s at most.
    pub fn run_until(&self, stopped: impl Future<Output = ()>) -> Option<Result<(), CaseFailure>> {
        let runtime = match runtime(&self.case) {
            Ok(runtime) => runtime,
            Err(failed) => return Some(Err(CaseFailure::new(failed))),
        };
        let (opened, violated) = (Opened::default(), Violated::default());
        let outcome = runtime.block_on(async {
            tokio::select! {
                outcome = self.whole(opened.clone(), violated.clone()) => Some(outcome),
                () = pin!(stopped) => None,
            }
        });
        if !matches!(outcome, Some(Ok(()))) {
            runtime.block_on(settled(&opened));
        }
        // Not by dropping it: a case that failed may have left a thread that is stuck.
        runtime.shutdown_background();
        let failed = |why| CaseFailure {
            why,
            violated: violated.clauses(),
        };
        outcome.map(|outcome| outcome.map_err(failed))
    }

    async fn whole(&self, opened: Opened, violated: Violated) -> Outcome {
        let (case, target) = (&self.case, &self.target);
        let whole = async {
            let address = match case.placement {
                Placement::Shared => target.address().await?,
                Placement::Dedicated => target.dedicated_address().await?,
            };
            let (target, at) = (target.clone(), address.clone());
            let context = CaseContext::new(target, at, case.placement, opened, violated);
            let ran = (case.run)(&context).await;
            let outcome = match ran {
                Ok(()) => context.finish().await,
                failed => failed,
            };
            self.target.dispose(&address);
            outcome
        };
        within(CASE_MAX, "the end of the case, which hangs", whole).await?
    }
}

/// Why a case failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct CaseFailure {
    /// The reason in words.
    pub why: Failed,
    /// The clauses that its history violates; empty if it failed for another reason.
    violated: Vec<Clause>,
}

impl CaseFailure {
    /// A failure that no history shows.
    #[must_use]
    pub fn new(why: impl Into<Failed>) -> Self {
        Self {
            why: why.into(),
            violated: Vec::new(),
        }
    }

    /// The clauses that it breaks: those that its history violates, or `own`, that of the case.
    #[must_use]
    pub fn clauses_or(&self, own: Clause) -> Vec<Clause> {
        match self.violated.is_empty() {
            true => vec![own],
            false => self.violated.clone(),
        }
    }
}

impl std::fmt::Debug for SuiteCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}::{}", self.target.name(), self.file, self.name())
    }
}

/// Closes what a case has left open, and waits until the tasks of this runtime have ended: guards release in the
/// background.
async fn settled(opened: &Opened) {
    let closed = async {
        opened.release_unguarded().await;
        // A client that is only dropped leaves its session to the store's time-out.
        opened.close(STOP_MAX).await
    };
    let _ = timeout(STOP_MAX, closed).await;
    let ended = async {
        while Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::time::sleep(STOP_POLL_EVERY).await;
        }
    };
    let _ = timeout(STOP_MAX, ended).await;
}

fn runtime(case: &Case) -> Result<Runtime, Failed> {
    let mut builder = if case.one_thread {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    Ok(builder
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()?)
}

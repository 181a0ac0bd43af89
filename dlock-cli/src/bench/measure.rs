//! A run: connect, verify, measure, clean up, print.

use std::path::Path;

use console::Term;
use dlock::config::Registry;
use dlock_bench::{Bench, Left, Plan, Scope, Target, data::Run, text};
use dlock_verify::{signals::Interrupt, verdict::Document};

use super::{
    compare::{self, read},
    confirm,
    progress::Bar,
    report::ReportFile,
    targets::Targets,
    verdicts,
};
use crate::{
    base::{
        exit::{Exit, Failure},
        output, runtime,
    },
    cli::args::{self, Global},
};

pub(crate) fn main(
    registry: &Registry,
    global: &Global,
    args: &args::Bench,
) -> Result<Exit, Failure> {
    if let Some(files) = &args.compare {
        return compare::main(files, args.fail_over, args.json);
    }
    // The command line's own check leaves it out beside a URL, which excludes --compare.
    if args.fail_over.is_some() {
        return Err(Failure::usage("--fail-over needs --compare"));
    }
    match &args.from {
        Some(file) => {
            let run = earlier(args, file)?;
            present(args, &run, check_report(args)?)?;
            Ok(Exit::OK)
        }
        None => measured(registry, global, args),
    }
}

/// Prints the run, and writes its report. A report that cannot be written does not cost the results.
fn present(args: &args::Bench, run: &Run, report: Option<ReportFile>) -> Result<(), Failure> {
    let text = match args.json {
        true => output::json(run)?,
        false => text::show(run, width()),
    };
    let written = report.map_or(Ok(()), |file| file.write(run));
    output::print(text.as_bytes())?;
    written
}

/// The columns of the terminal; lines in a file or a pipe are as long as they need.
fn width() -> usize {
    let out = Term::stdout();
    match out.is_term() {
        true => out.size().1.into(),
        false => usize::MAX,
    }
}

fn check_report(args: &args::Bench) -> Result<Option<ReportFile>, Failure> {
    let file = args.report.as_deref();
    file.map(ReportFile::check).transpose()
}

/// An earlier run, perhaps with newer verdicts.
fn earlier(args: &args::Bench, file: &Path) -> Result<Run, Failure> {
    let mut run = read(file)?;
    let stores: Vec<String> = run.stores.iter().map(|store| store.url.clone()).collect();
    run.verdicts = earlier_verdicts(args, &stores)?.or(run.verdicts);
    Ok(run)
}

fn earlier_verdicts(args: &args::Bench, stores: &[String]) -> Result<Option<Document>, Failure> {
    let file = args.verify_file.as_deref();
    file.map(|file| verdicts::read(file, stores)).transpose()
}

fn measured(registry: &Registry, global: &Global, args: &args::Bench) -> Result<Exit, Failure> {
    let plan = Plan::new(args.seed.unwrap_or_else(new_seed))
        .run_for(args.run_for)
        .scope(match args.all {
            true => Scope::All,
            false => Scope::Default,
        });
    let targets = Targets::given(registry, global, args)?;
    let report = check_report(args)?;
    let run = runtime::block_on_all_cores(run(registry, args, plan, targets))?;
    present(args, &run, report)?;
    Ok(match run.stores.iter().all(|store| store.error.is_none()) {
        true => Exit::OK,
        false => Exit::UNKNOWN,
    })
}

/// Starts the servers of `--local`, verifies if that is wanted, and measures.
async fn run(
    registry: &Registry,
    args: &args::Bench,
    plan: Plan,
    targets: Targets,
) -> Result<Run, Failure> {
    let mut interrupt = Interrupt::catch().map_err(|error| {
        let why = output::describe(&error);
        Failure::new(Exit::INTERNAL, format!("cannot catch signals: {why}"))
    })?;
    // The servers end with this value, also after a signal.
    let targets = tokio::select! {
        targets = targets.start(registry, args.local) => targets?,
        failure = interrupted(&mut interrupt) => return Err(failure),
    };
    let stores = targets.all().iter();
    let stores: Vec<String> = stores.map(|target| target.config.to_string()).collect();
    let mut verdicts = earlier_verdicts(args, &stores)?;
    tokio::select! {
        agreed = confirm::begin(args, &plan, &targets) => agreed?,
        failure = interrupted(&mut interrupt) => return Err(failure),
    }
    if let Some(time) = args.verify {
        verdicts = Some(verdicts::of(registry, targets.all(), time, plan.seed).await?);
    }
    let mut run = measure(plan, targets.all(), &mut interrupt).await?;
    run.verdicts = verdicts;
    Ok(run)
}

/// Waits for a signal, and returns the end of the program by it.
///
/// # Cancel safety
///
/// Safe: none is lost.
async fn interrupted(interrupt: &mut Interrupt) -> Failure {
    Failure::new(Exit::by_signal(interrupt.next().await), "interrupted")
}

/// Measures until the end, or until a signal; both remove what was made.
async fn measure(
    plan: Plan,
    targets: &[Target],
    interrupt: &mut Interrupt,
) -> Result<Run, Failure> {
    let bar = Bar::new();
    let mut bench = Bench::new(plan, targets);
    let show = |done: f64, what: &str| bar.show(done, what);
    let measuring = async {
        bench.connect().await?;
        Ok::<_, Failure>(bench.measure(&show).await?)
    };
    let measured = tokio::select! {
        run = measuring => run,
        failure = interrupted(interrupt) => Err(failure),
    };
    bar.show(1.0, "removing the locks of the run");
    // A second signal ends it at once.
    let left = tokio::select! {
        left = bench.clean_up() => left,
        failure = interrupted(interrupt) => return Err(failure),
    };
    bar.end();
    for (url, left) in left {
        output::say(&match left {
            Left::Unknown(error) => {
                format!("{url}: could not check whether locks of the run are left: {error}")
            }
            Left::Some(error) => format!("{url}: some locks of the run were not removed: {error}"),
        });
    }
    measured
}

/// Short enough to be typed.
fn new_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    // The keys of a new state are random.
    RandomState::new().hash_one(std::process::id()) & 0xffff_ffff
}

//! A run: connect, verify, measure, clean up, print.

use std::{fs, path::Path};

use dlock_bench::{Bench, Plan, Scope, Target, data::Run, report, text};
use dlock_verify::verdict::Document;

use super::{
    compare::{self, read},
    confirm,
    interrupt::Interrupt,
    progress::Bar,
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

pub(crate) fn main(global: &Global, args: &args::Bench) -> Result<Exit, Failure> {
    if let Some(files) = &args.compare {
        return compare::main(files, args.fail_over, args.json);
    }
    let run = match &args.from {
        Some(file) => earlier(args, file)?,
        None => measured(global, args)?,
    };
    if let Some(file) = &args.report {
        write_report(file, &run)?;
    }
    let text = match args.json {
        true => json(&run)?,
        false => text::show(&run),
    };
    output::print(text.as_bytes())?;
    Ok(Exit::OK)
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

fn measured(global: &Global, args: &args::Bench) -> Result<Run, Failure> {
    let plan = Plan::new(args.seed.unwrap_or_else(new_seed))
        .run_for(args.run_for)
        .scope(match args.all {
            true => Scope::All,
            false => Scope::Default,
        });
    let targets = Targets::given(global, args)?;
    runtime::block_on_all_cores(run(args, plan, targets))
}

/// Starts the servers of `--local`, verifies if that is wanted, and measures.
async fn run(args: &args::Bench, plan: Plan, targets: Targets) -> Result<Run, Failure> {
    let mut interrupt = Interrupt::catch().map_err(|error| {
        let why = output::describe(&error);
        Failure::new(Exit::INTERNAL, format!("cannot catch signals: {why}"))
    })?;
    // The servers end with this value, also after a signal.
    let targets = tokio::select! {
        targets = targets.start(args.local) => targets?,
        interrupted = interrupt.next() => return Err(interrupted),
    };
    let stores = targets.all().iter();
    let stores: Vec<String> = stores.map(|target| target.config.to_string()).collect();
    let mut verdicts = earlier_verdicts(args, &stores)?;
    tokio::select! {
        agreed = confirm::begin(args, &plan, &targets) => agreed?,
        interrupted = interrupt.next() => return Err(interrupted),
    }
    if let Some(time) = args.verify {
        verdicts = Some(verdicts::of(targets.all(), time, plan.seed).await?);
    }
    let mut run = measure(plan, targets.all(), &mut interrupt).await?;
    run.verdicts = verdicts;
    Ok(run)
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
        interrupted = interrupt.next() => Err(interrupted),
    };
    bar.show(1.0, "removing the locks of the run");
    // A second signal ends it at once.
    let left = tokio::select! {
        left = bench.clean_up() => left,
        interrupted = interrupt.next() => return Err(interrupted),
    };
    bar.end();
    for (url, error) in left {
        output::say(&format!(
            "{url}: some locks of the run were not removed: {error}"
        ));
    }
    measured
}

fn json(run: &Run) -> Result<String, Failure> {
    let text = serde_json::to_string(run);
    let text = text.map_err(|error| Failure::new(Exit::INTERNAL, error.to_string()))?;
    Ok(text + "\n")
}

fn write_report(file: &Path, run: &Run) -> Result<(), Failure> {
    let html = report::html(run);
    let html = html.map_err(|error| Failure::new(Exit::INTERNAL, error.to_string()))?;
    fs::write(file, html).map_err(|error| {
        let why = output::describe(&error);
        Failure::usage(format!("cannot write {}: {why}", file.display()))
    })
}

/// Short enough to be typed.
fn new_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    // The keys of a new state are random.
    RandomState::new().hash_one(std::process::id()) & 0xffff_ffff
}

//! `dlock verify`: what a store promises, and whether it holds.
//!
//! For each store `run` goes through the steps: `settings`, then the clauses of the `contract` on a `subject`, which
//! is paced, and `faults` of `clients`, which are `worker` processes. `text` shows the verdicts.

pub(crate) mod bounds;
pub(crate) mod worker;

mod accept;
mod clauses;
mod clients;
mod contract;
mod declared;
mod faults;
mod names;
mod pace;
mod paced;
mod progress;
mod run;
mod settings;
mod stop;
mod subject;
mod sweep;
mod target;
mod text;
mod undecided;

use std::{collections::BTreeSet, sync::Arc};

use dlock::{
    Error,
    config::{Config, Registry},
};
use dlock_verify::verdict::{Document, Outcome};
use indicatif::MultiProgress;
use rustix::process::Signal;
use tokio::task::JoinSet;

use self::{progress::Progress, run::Ended, stop::Stop};
use crate::{
    base::{
        exit::{Exit, Failure},
        output, runtime,
    },
    cli::args::{Global, Verify},
    store::Store,
};

pub(crate) use self::run::{Faults, Plan};

pub(crate) fn main(registry: &Registry, global: &Global, args: &Verify) -> Result<Exit, Failure> {
    let stores = Store::all(registry, global, &args.urls)?;
    let configs = stores.iter().map(|store| store.config().clone()).collect();
    accept::check(&args.accept, &dlock_raw::probe::checks())?;
    let mut verified = runtime::block_on_all_cores(verify(registry, configs, plan(args)))?;
    let mut document = verified.document;
    accept::apply(&mut document, &args.accept);
    if verified.unreachable.len() == document.stores.len()
        && let Some(error) = verified.unreachable.pop()
    {
        // A program reads the document in any case.
        if args.json {
            output::print(show(&document, args)?.as_bytes())?;
        }
        return Err(error.into());
    }
    output::print(show(&document, args)?.as_bytes())?;
    Ok(match document.outcome() {
        Outcome::Holds => Exit::OK,
        Outcome::Unknown => Exit::UNKNOWN,
        _ => Exit::FAILS,
    })
}

/// The verdicts about some stores.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) document: Document,
    /// The errors of the stores about which nothing could be found out.
    unreachable: Vec<Error>,
}

/// Verifies stores of `registry`, all at once. Their verdicts have the order of `configs`.
///
/// # Errors
///
/// When a signal stopped it; the locks are removed then.
///
/// # Cancel safety
///
/// Not to be dropped: a signal stops it, and it removes what it made.
pub(crate) async fn verify(
    registry: &Registry,
    configs: Vec<Config>,
    plan: Plan,
) -> Result<Verified, Failure> {
    let (ended, signal) = all(registry, configs, plan).await?;
    if let Some(signal) = signal {
        return Err(Failure::new(Exit::by_signal(signal), stopped(&ended)));
    }
    let (mut verdicts, mut unreachable) = (Vec::new(), Vec::new());
    for ended in ended {
        verdicts.push(ended.verdict);
        unreachable.extend(ended.unreachable);
    }
    Ok(Verified {
        document: Document::new(plan.seed, verdicts),
        unreachable,
    })
}

/// The last words of a verification that was stopped.
fn stopped(ended: &[Ended]) -> String {
    let residues = || ended.iter().map(|ended| &ended.verdict.residue);
    let removed: u64 = residues().map(|residue| residue.removed).sum();
    let left: Vec<_> = residues().flat_map(|residue| &residue.left).collect();
    let mut unknown: Vec<_> = residues()
        .filter_map(|residue| residue.unknown.clone())
        .collect();
    let foreign = reached(ended).filter(|scheme| dlock_raw::backend(scheme).is_none());
    unknown.extend(foreign.map(|scheme| format!("{scheme}: has no list of entries")));
    let left = match (left.as_slice(), unknown.as_slice()) {
        ([], []) => format!("no locks are left{}", own(ended)),
        ([], unknown) => format!(
            "what is left is not known, and expires: {}",
            unknown.join("; ")
        ),
        (left, _) => format!("left: {left:?}"),
    };
    format!("stopped: {removed} entries removed, {left}")
}

/// The permanent entries of dlock itself, which belong to all locks of a store.
fn own(ended: &[Ended]) -> String {
    let own: BTreeSet<_> = reached(ended)
        .filter_map(dlock_raw::residue::permanent)
        .collect();
    match own.is_empty() {
        true => String::new(),
        false => {
            let own = Vec::from_iter(own).join(", ");
            format!("; dlock's own permanent entries stay: {own}")
        }
    }
}

/// The schemes of the stores that were reached: before that, nothing was made.
fn reached(ended: &[Ended]) -> impl Iterator<Item = &str> {
    let reached = ended.iter().filter(|ended| ended.verdict.server.is_some());
    reached.filter_map(|ended| Some(ended.verdict.url.split_once(':')?.0))
}

fn plan(args: &Verify) -> Plan {
    Plan {
        run_for: match args.quick {
            true => bounds::RUN_FOR_QUICK,
            false => args.run_for,
        },
        faults: match args.no_faults {
            true => Faults::Off,
            false => Faults::On,
        },
        seed: rand::random(),
    }
}

/// The ends of all verifications, and the signal that stopped them.
async fn all(
    registry: &Registry,
    configs: Vec<Config>,
    plan: Plan,
) -> Result<(Vec<Ended>, Option<Signal>), Failure> {
    let stop = Stop::catch().map_err(|error| {
        let why = output::describe(&error);
        Failure::new(Exit::INTERNAL, format!("cannot catch signals: {why}"))
    })?;
    let (bars, mut running) = (Arc::new(MultiProgress::new()), JoinSet::new());
    for (index, config) in configs.into_iter().enumerate() {
        let progress = Progress::new(&bars, &config.to_string(), plan.run_for);
        let (registry, stop) = (registry.clone(), stop.clone());
        running.spawn(async move {
            let ended = run::run(&registry, &config, plan, &stop, &progress).await;
            (index, ended)
        });
    }
    let mut ended = running.join_all().await;
    ended.sort_by_key(|(index, _)| *index);
    let ended = ended.into_iter().map(|(_, ended)| ended);
    Ok((ended.collect(), stop.signal()))
}

fn show(document: &Document, args: &Verify) -> Result<String, Failure> {
    if !args.json {
        return Ok(text::show(document));
    }
    output::json(document)
}

//! All parts of a store, and their sum.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use dlock_verify::{
    chaos::{Bites, Exception},
    support::Outcome,
};

use super::{
    job::Job,
    kept,
    part::{self, Part},
    record, table,
};
use crate::{say::say, stores::Store};

/// Plays the parts that are not done, and sums up all; whether all hold.
pub(super) async fn all_parts(store: &dyn Store, job: &Job) -> Outcome<bool> {
    let mut parts = Vec::new();
    for number in 0..job.parts.len() {
        let directory = kept::directory(store.name(), job.seed_of(number))?;
        let file = directory.join(format!("done-{}-of-{}.json", number + 1, job.parts.len()));
        let done = read(&file).filter(|_| job.is_resumed());
        let part = match done {
            Some(part) => {
                say(
                    store.name(),
                    &format!("part {} was done before", number + 1),
                );
                part
            }
            None => part::play(store, job, number, &directory).await?,
        };
        if part.holds && job.is_resumed() {
            fs::write(&file, serde_json::to_string(&part)?)?;
        }
        parts.push(part);
    }
    say_sum(store.name(), job, &parts)?;
    let holds = parts.iter().all(|part| part.holds);
    if let Some(file) = &job.record
        && holds
    {
        record::add(file, store.name(), job.seed, &parts).await?;
    }
    Ok(holds)
}

/// The sum of all parts: faults, declared exceptions, and what was open in the first part and in the last one.
fn say_all_parts(store: &str, parts: &[Part]) {
    let mut faults = BTreeMap::<String, Bites>::new();
    for (fault, bites) in parts.iter().flat_map(|part| &part.bites) {
        faults.entry(fault.clone()).or_default().add(bites);
    }
    let mut declared = BTreeMap::<&str, u64>::new();
    for (row, count) in parts.iter().flat_map(|part| &part.declared) {
        *declared.entry(row).or_default() += count;
    }
    say(store, &format!("all {} parts:", parts.len()));
    table::say_faults(store, &faults);
    let mut open = parts.iter().filter_map(|part| part.open.as_ref());
    if let (Some((_, first)), Some((_, last))) = (open.next(), open.next_back()) {
        table::say_open(store, first, last);
    }
    for (row, count) in declared {
        say(store, &format!("declared: {row} seen {count} times"));
    }
}

fn read(file: &Path) -> Option<Part> {
    serde_json::from_str(&fs::read_to_string(file).ok()?).ok()
}

fn say_sum(store: &str, job: &Job, parts: &[Part]) -> Outcome {
    if parts.len() > 1 {
        say_all_parts(store, parts);
    }
    let grants: u64 = parts.iter().map(|part| part.grants).sum();
    let faults = parts.iter().flat_map(|part| part.bites.values());
    let strikes: u64 = faults.map(|bites| bites.strikes).sum();
    let lost: u64 = parts.iter().map(|part| part.control_lost).sum();
    let seconds: u64 = parts.iter().map(|part| part.took.as_secs()).sum();
    let held = parts.iter().filter(|part| part.holds).count();
    say(
        store,
        &format!(
            "TOTAL: {held} of {} parts hold; {grants} grants, {strikes} faults, {seconds} s; the control lost {lost} \
             updates; seed {:x}",
            parts.len(),
            job.seed
        ),
    );
    let seen: BTreeSet<_> = parts.iter().flat_map(|part| part.declared.keys()).collect();
    for exception in Exception::of(store)? {
        let row = exception.row();
        if job.is_chosen(&exception.fault) && !seen.contains(&row) {
            say(store, &format!("unproved: {row} was not seen"));
        }
    }
    Ok(())
}

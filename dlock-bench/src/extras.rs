//! The workloads outside the rounds, one store after the other, and the take-overs of all stores at once.

use std::time::Duration;

use dlock_core::Error;
use tokio::task::JoinSet;

use crate::{
    slot::Slot,
    workloads::{contention, held, steady, takeover},
};

/// The longest time of steady arrivals and of contention.
const STEADY_MAX: Duration = Duration::from_secs(5);

/// The part of the run's time that they take at most.
const STEADY_PART: u32 = 30;

/// Measures them; `report` is called with what is under way. One that fails is a note of its store.
///
/// # Cancel safety
///
/// Dropping the future ends the workers.
pub(crate) async fn measure(
    slots: &mut [Slot],
    run_for: Duration,
    seed: u64,
    report: impl Fn(&str),
) {
    let run_for = STEADY_MAX.min(run_for / STEADY_PART);
    for slot in &mut *slots {
        let label = slot.data.label.clone();
        report(&format!("{label}: steady arrivals"));
        steady_of(slot, run_for, seed).await;
        report(&format!("{label}: contention"));
        contention_of(slot, run_for).await;
    }
    report("take-overs after a kill and after a cut");
    takeovers(slots).await;
    for slot in slots {
        report(&format!("{}: held locks", slot.data.label));
        held_of(slot).await;
    }
}

/// Records why a workload was not measured. A store that is gone fails: it is not measured to the end.
async fn lacks(slot: &mut Slot, workload: &str, error: &Error) {
    slot.lacks(workload, error);
    let Some(store) = slot.live().cloned() else {
        return;
    };
    if let Err(error) = store.check().await {
        slot.fail(&format!("at {workload}"), &error);
    }
}

/// At half of the store's own peak.
async fn steady_of(slot: &mut Slot, run_for: Duration, seed: u64) {
    let rates = slot
        .data
        .cycles
        .iter()
        .map(|row| row.dlock.per_second.value);
    let peak = rates.fold(0.0, f64::max);
    let Some(store) = slot.live().filter(|_| peak > 0.0) else {
        return;
    };
    match steady(store, peak / 2.0, run_for, seed).await {
        Ok(found) => slot.data.steady = Some(found),
        Err(error) => lacks(slot, "steady arrivals", &error).await,
    }
}

async fn contention_of(slot: &mut Slot, run_for: Duration) {
    let Some(store) = slot.live() else {
        return;
    };
    match contention(store, run_for).await {
        Ok(found) => slot.data.contention = Some(found),
        Err(error) => lacks(slot, "contention", &error).await,
    }
}

async fn takeovers(slots: &mut [Slot]) {
    let mut running = JoinSet::new();
    for (at, slot) in slots.iter().enumerate() {
        if let Some(store) = slot.live().cloned() {
            running.spawn(async move { (at, takeover(&store).await) });
        }
    }
    while let Some(found) = running.join_next().await {
        // A task that died has its message on standard error, and its store has no take-over.
        let Ok((at, found)) = found else {
            continue;
        };
        let slot = &mut slots[at];
        match found {
            Ok((takeover, note)) => {
                slot.data.takeover = Some(takeover);
                slot.data.notes.extend(note);
            }
            Err(error) => lacks(slot, "take-overs", &error).await,
        }
    }
}

async fn held_of(slot: &mut Slot) {
    let Some(store) = slot.live() else {
        return;
    };
    match held(store).await {
        Ok((rows, note)) => {
            slot.data.held = rows;
            slot.data.notes.extend(note);
        }
        Err(error) => lacks(slot, "held locks", &error).await,
    }
}

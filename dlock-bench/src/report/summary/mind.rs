//! The sentence about what a reader must know first.

use super::tile::{Tile, names};
use crate::{
    data::Badge,
    report::{
        format, safety,
        shown::{Shown, ShownStore},
    },
};

/// The gravest thing of all.
pub(super) fn mind(shown: &Shown<'_>) -> Tile {
    let about = "Mind";
    if let Some(gravest) = safety::gravest(shown) {
        let more = match gravest.others {
            0 => String::new(),
            others => format!(" And {} more, see below.", format::count(others as u64)),
        };
        let tile = Tile::new(about, gravest.head, gravest.text)
            .with_more(more)
            .warning();
        return match gravest.advice {
            Some(advice) => tile.with_advice(&advice),
            None => tile,
        };
    }
    let failed: Vec<&ShownStore<'_>> = shown
        .stores
        .iter()
        .filter(|store| store.data.error.is_some())
        .collect();
    if let Some(first) = failed.first() {
        let error = first.data.error.as_deref().unwrap_or_default();
        return Tile::new(about, format!("{}: not measured", names(&failed)), error).warning();
    }
    if let Some(text) = missed(shown) {
        return Tile::new(about, "Locks that were late", text).warning();
    }
    if !matches!(shown.run.noise.badge, Badge::Quiet) {
        let text = shown.run.noise.reasons.join("; ");
        return Tile::new(
            about,
            "A noisy machine",
            format!("{text}. Measure again when it is quiet."),
        )
        .warning();
    }
    lowest_ratio(shown)
        .unwrap_or_else(|| Tile::new(about, "Nothing", "No finding, no failure, no noise."))
}

/// Take-overs without a next holder, and locks that were lost while held.
fn missed(shown: &Shown<'_>) -> Option<String> {
    let mut all = shown.stores.iter();
    all.find_map(|store| {
        let missed = store
            .data
            .takeover
            .as_ref()
            .map_or(0, |takeover| takeover.missed);
        let lost: u32 = store.data.held.iter().map(|held| held.lost).sum();
        match (missed, lost) {
            (0, 0) => None,
            (0, lost) => Some(format!(
                "{}: {} lost while held.",
                store.name,
                format::plural(lost as usize, "lock")
            )),
            (missed, _) => {
                let locks = format::plural(missed as usize, "lock");
                Some(format!(
                    "{}: {locks} without a next holder within the store's bound.",
                    store.name
                ))
            }
        }
    })
}

/// The store where dlock costs the most beside the bare driver.
fn lowest_ratio(shown: &Shown<'_>) -> Option<Tile> {
    let all = shown.stores.iter().flat_map(|store| {
        let cycles = store.data.cycles.iter();
        cycles.filter_map(move |cycles| Some((cycles.of_floor?, cycles.tasks, store)))
    });
    let (ratio, tasks, store) = all.min_by(|(a, ..), (b, ..)| a.value.total_cmp(&b.value))?;
    let tasks = format::plural(tasks as usize, "task");
    let text = format!(
        "With {tasks} dlock reaches {} of the bare driver's rate ({} to {}), which has no safety.",
        format::ratio(ratio.value),
        format::ratio(ratio.low),
        format::ratio(ratio.high)
    );
    Some(Tile::new(
        "The price of safety, at most",
        store.name.clone(),
        text,
    ))
}

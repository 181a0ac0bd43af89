//! The sentence about safety.

use super::tile::{Tile, names};
use crate::report::{
    format, safety,
    shown::{Shown, ShownStore},
};

/// The stores without a danger, a warning or an open question.
pub(super) fn safest(shown: &Shown<'_>) -> Tile {
    if !shown.is_verified {
        let text =
            "This run measured speed alone. To see which exceptions apply to these servers, run";
        let tile = Tile::new("Safety", "Not verified", text);
        return tile.with_advice("dlock verify URL…");
    }
    let clean: Vec<&ShownStore<'_>> = shown
        .stores
        .iter()
        .filter(|store| safety::judge(store).is_clean())
        .collect();
    let grants = || clean.iter().filter_map(|store| store.verdict);
    let (Some(fewest), Some(faults)) = (
        grants().map(|verdict| verdict.grants).min(),
        grants().map(|verdict| verdict.strikes()).min(),
    ) else {
        let text = "Each store has a danger, a warning or an open question; they are listed below.";
        return Tile::new("Safest, as found here", "None without a finding", text);
    };
    let each = if clean.len() > 1 { " or more each" } else { "" };
    let bound = dlock_verify::verdict::rare_at_most(fewest).map_or_else(String::new, |rare| {
        format!(
            ": fewer than 1 in {} is wrong, at 95 % confidence",
            format::count(rare)
        )
    });
    let text = format!(
        "No clause failed in {} grants under {} faults{each}{bound}.",
        format::count(fewest),
        format::count(faults)
    );
    Tile::new("Safest, as found here", names(&clean), text)
}

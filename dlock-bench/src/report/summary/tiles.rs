//! Which sentences there are.

use maud::{Markup, html};

use super::{crash, mind, safest, speed, tile::Tile};
use crate::{data::Badge, report::shown::Shown};

pub(in crate::report) fn render(shown: &Shown<'_>) -> Markup {
    html! {
        div.tiles {
            @for tile in tiles(shown) { (tile.render()) }
        }
    }
}

fn tiles(shown: &Shown<'_>) -> [Tile; 4] {
    let rates = match shown.run.noise.badge {
        Badge::Quiet => speed::fastest(shown),
        _ => speed::cheapest(shown),
    };
    let nothing = || Tile::new("Speed", "Not measured", "No store has a result for cycles.");
    let after_crash = crash::after_crash(shown).or_else(|| crash::hand_over(shown));
    [
        safest::safest(shown),
        rates.unwrap_or_else(nothing),
        after_crash.unwrap_or_else(|| {
            Tile::new(
                "Hand-over",
                "Not measured",
                "No store has a result for hand-overs.",
            )
        }),
        mind::mind(shown),
    ]
}

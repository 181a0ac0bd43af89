//! The evidence of each clause, in a line.

use maud::{Markup, html};

use super::shown::Shown;

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let lines = shown.stores.iter().flat_map(|store| {
        let clauses = store.verdict.iter().flat_map(|verdict| &verdict.clauses);
        clauses.map(move |clause| (store, clause))
    });
    html! {
        details.screen {
            summary { "The evidence, clause by clause" }
            div.scroll {
                table.raw.words {
                    thead { tr { th scope="col" { "Store" } th scope="col" { "Clause" } th scope="col" { "Evidence" } } }
                    tbody {
                        @for (store, clause) in lines {
                            tr { th scope="row" { (store.name) } td { (clause.id.id()) } td { (clause.evidence) } }
                        }
                    }
                }
            }
        }
    }
}

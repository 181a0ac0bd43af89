//! The promises of the backends, whether or not they were verified.

use maud::{Markup, html};

use super::{format, shown::Shown};

/// The backends of the table, in its order.
const BACKENDS: [&str; 6] = ["file", "memory", "redis", "etcd", "zk", "mysql"];

/// A property, and what it is for each of [`BACKENDS`].
const PROMISES: [(&str, [&str; 6]); 5] = [
    (
        "Excludes",
        [
            "processes of one machine",
            "tasks of one process",
            "machines",
            "machines",
            "machines",
            "machines",
        ],
    ),
    (
        "The lock of a dead holder is free",
        [
            "at once",
            "after its ttl",
            "after its ttl",
            "after its ttl and up to 3 s",
            "after the session’s timeout and 1.5 ticks",
            "at once, or after its ttl and 2 s if cut off",
        ],
    ),
    (
        "Waiters are granted",
        [
            "in no order",
            "in order",
            "in no order",
            "in order",
            "in order",
            "in no order",
        ],
    ),
    (
        "A restart of the server",
        [
            "no server",
            "no server",
            "no grant for restart_guard if locks may be lost",
            "keeps locks",
            "keeps locks",
            "frees locks; no grant for restart_guard",
        ],
    ),
    (
        "A failover",
        [
            "no server",
            "no server",
            "no grant for failover_guard",
            "keeps locks",
            "keeps locks",
            "frees locks; no grant for restart_guard",
        ],
    ),
];

pub(super) fn render(shown: &Shown<'_>) -> Markup {
    let column = |backend: &str| BACKENDS.iter().position(|known| *known == backend);
    html! {
        h3 { "What each store promises" }
        div.scroll {
            table.gt {
                thead { tr {
                    td {}
                    @for store in &shown.stores { th scope="col" class=(store.series().class()) { span { (store.name) } } }
                } }
                tbody {
                    @for (what, promises) in PROMISES {
                        tr {
                            th scope="row" { (what) }
                            @for store in &shown.stores {
                                td { (column(&store.data.backend).map_or(format::NONE, |column| promises[column])) }
                            }
                        }
                    }
                }
            }
        }
        p.note { "The exceptions of each store, with their windows, are declared in its README and in the contract." }
    }
}

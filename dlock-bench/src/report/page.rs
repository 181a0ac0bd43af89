//! The page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    board, embedded::Embedded, evidence, faults, findings, header, matrix, method, promises,
    shown::Shown, speed, style, summary,
};
use crate::data::Run;

/// A report has at most this many bytes. Data that does not fit is left out of it, first the raw rounds.
pub const SIZE_MAX: usize = 250_000;

/// The elements of the head that have no end, written so that the page is well-formed XML, too.
const HEAD: &str = concat!(
    r#"<meta charset="utf-8"/>"#,
    r#"<meta name="viewport" content="width=device-width,initial-scale=1"/>"#,
    r#"<meta name="color-scheme" content="light dark"/>"#,
);

/// The report of `run` as an HTML page, with its verdicts beside the speed of the stores.
///
/// The page has no script and loads nothing. The data of the run is inside: see
/// [`Run::parse`](crate::data::Run::parse).
///
/// ```no_run
/// use dlock_bench::{data::Run, report};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let run = Run::parse(&std::fs::read_to_string("run.json")?)?;
/// std::fs::write("report.html", report::html(&run)?)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// When the run cannot be written as JSON.
pub fn html(run: &Run) -> Result<String, serde_json::Error> {
    let shown = Shown::new(run);
    let page = |embedded: &Embedded| document(&shown, embedded).into_string();
    // What is left out is said in a sentence, so the data has less room than there is.
    let without = page(&Embedded::new(run, 0)?).len();
    let embedded = Embedded::new(run, SIZE_MAX.saturating_sub(without))?;
    Ok(page(&embedded))
}

fn document(shown: &Shown<'_>, embedded: &Embedded) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (PreEscaped(HEAD))
                title { (header::title(shown)) " · dlock bench" }
                style { (PreEscaped(style::CSS)) }
            }
            body {
                main {
                    (header::render(shown))
                    section.ten {
                        h2 { "In ten seconds" }
                        (summary::render(shown))
                        (board::render(shown))
                    }
                    (speed::render(shown))
                    (safety(shown))
                    (method::render(shown, embedded.left_out))
                    footer { "Made by " b { "dlock bench" } " " (shown.run.version) ", seed " code { (shown.run.seed) } }
                }
                (embedded.render())
            }
        }
    }
}

fn safety(shown: &Shown<'_>) -> Markup {
    html! {
        section #safety {
            h2 { "Safety" }
            @if shown.is_verified {
                p.lead {
                    @if shown.has_faults() {
                        "Several clients of each store took locks while processes were stopped and connections were cut. "
                    } @else {
                        "Several clients of each store took locks, without faults. "
                    }
                    "Each cell says whether a clause of the contract holds, and in how many grants."
                }
                (matrix::render(shown))
                (evidence::render(shown))
                (faults::render(shown))
                (findings::render(shown))
            } @else {
                p.lead {
                    "Not verified in this run. " code { "dlock verify URL…" } " checks each clause of the contract on these servers, "
                    "and finds the settings that endanger locks."
                }
            }
            (promises::render(shown))
        }
    }
}

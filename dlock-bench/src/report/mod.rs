//! The report of a run as one HTML file: no script, no external reference, light and dark, for screens and paper.
//!
//! The data of the run is inside, so that [`Run::parse`](crate::data::Run::parse) reads a report, too.

mod board;
mod card;
mod embedded;
mod evidence;
mod faults;
mod findings;
mod format;
mod header;
mod matrix;
mod method;
mod numbers;
mod page;
mod plot;
mod promises;
mod safety;
mod shown;
mod speed;
mod style;
mod summary;

pub use self::page::{SIZE_MAX, html};

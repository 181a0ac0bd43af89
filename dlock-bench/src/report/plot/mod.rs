//! Figures as SVG, one file a kind. Colours are classes: the page's style has them for light, dark and paper.
//!
//! A figure is given what it shows and returns its markup, or `None` without anything to show. All coordinates pass
//! through a scale that clamps, so none is infinite or not a number.

pub(in crate::report) mod bars;
pub(in crate::report) mod by_number;
mod curves;
mod density;
pub(in crate::report) mod dots;
pub(in crate::report) mod percentiles;
pub(in crate::report) mod ridgeline;
pub(in crate::report) mod roofline;
mod rows;
mod scale;
mod series;
pub(in crate::report) mod shares;
mod svg;

pub(in crate::report) use self::series::{KINDS, Series};

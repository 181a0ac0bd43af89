//! The style of the page.

/// The style: no selector needs a character that XML has a meaning for, other than `>`.
pub(super) const CSS: &str = include_str!("style.css");

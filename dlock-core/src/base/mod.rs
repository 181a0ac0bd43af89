//! The words that every part of core uses.

pub(crate) mod cause;
pub(crate) mod clock;
pub(crate) mod deadline;
pub(crate) mod error;
pub(crate) mod lock;
pub(crate) mod name;
mod name_check;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod system;
pub(crate) mod token;

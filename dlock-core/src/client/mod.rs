//! The types that users of locks call.

pub(crate) mod acquire;
pub(crate) mod acquire_all;
pub(crate) mod builder;
pub(crate) mod drive;
pub(crate) mod guard;
pub(crate) mod locker;
pub(crate) mod lost;
pub(crate) mod options;
mod setters;

//! This machine: what it adds to the settings of a store.

pub(super) mod checks;
mod cpu;
mod limits;
mod watch;

pub use self::watch::Watch;

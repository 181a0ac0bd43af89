//! The stores that the program can use.

use dlock::config::Registry;

/// The scheme of the store that only one process has. The program is started again and again.
pub(crate) const MEMORY: &str = "memory";

/// All stores that are built in, but the one in memory.
pub(crate) fn registry() -> Registry {
    dlock::registry().without(MEMORY)
}

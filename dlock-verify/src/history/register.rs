//! A resource that is protected by fencing tokens: what a lock is for.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use dlock_core::toolkit::Lock;

use super::name::{Name, Names};

/// Registers by name, each of which refuses every token that is smaller than the largest it has
/// seen, at reads as well as at writes. They keep a log for [`checker::register`](crate::checker).
#[derive(Debug, Default)]
pub struct FencedRegister(Lock<State>);

#[derive(Debug, Default)]
struct State {
    names: Names,
    cells: HashMap<Name, Cell>,
    log: Vec<Access>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: u64,
    token_max: u64,
}

/// One access, in the order in which the register served it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "hand-made logs are what its checker is tested with"
)]
pub struct Access {
    /// The name of the register.
    pub name: Name,
    /// The token that was shown.
    pub token: u64,
    /// The value written; `None` for a read.
    pub wrote: Option<u64>,
    /// Whether the register accepted it.
    pub accepted: bool,
}

impl FencedRegister {
    /// Reads under `token`, or `None` when a larger one was seen before.
    pub fn read(&self, name: &str, token: u64) -> Option<u64> {
        self.access(name, token, None)
    }

    /// Writes under `token`; whether it was accepted.
    pub fn write(&self, name: &str, token: u64, value: u64) -> bool {
        self.access(name, token, Some(value)).is_some()
    }

    /// Reads, or writes where there is something to write: the value after it, or `None` when a
    /// larger token was seen before.
    pub fn access(&self, name: &str, token: u64, wrote: Option<u64>) -> Option<u64> {
        let mut state = self.0.lock();
        let name = state.names.intern(name);
        let cell = state.cells.entry(name.clone()).or_default();
        let accepted = token >= cell.token_max;
        if accepted {
            cell.token_max = token;
            cell.value = wrote.unwrap_or(cell.value);
        }
        let value = cell.value;
        state.log.push(Access {
            name,
            token,
            wrote,
            accepted,
        });
        accepted.then_some(value)
    }

    /// The accesses so far, in order.
    #[must_use]
    pub fn log(&self) -> Vec<Access> {
        self.0.lock().log.clone()
    }
}

//! The registers of a run: a fenced one, and its control, which compares no tokens.

use std::{
    collections::HashMap,
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use dlock_core::{Clock, toolkit::Lock};

use super::{
    event::{Event, EventKind, RegisterKind},
    name::Name,
};

/// Counters by name, fenced and unfenced, whose increments are recorded in the order in which they are served.
///
/// A client reads a counter, and writes what it read plus one. The fenced counters refuse each token that is
/// smaller than one they have seen, so they lose no update. The others accept each write: where holds end by
/// time, a run that is hard enough makes them lose some.
///
/// ```
/// use std::sync::Arc;
///
/// use dlock_core::Clock;
/// use dlock_verify::history::{History, RegisterKind, Registers};
///
/// let history = Arc::new(History::default());
/// let sink = history.clone();
/// let registers = Registers::new(Clock::boottime(), move |event| sink.record(event));
/// let name = "n07".into();
/// // The holder of token 1 is stopped after it has read, and goes on when its lock has another holder.
/// assert_eq!(registers.read(RegisterKind::Fenced, &name, 1), Some(0));
/// assert_eq!(registers.read(RegisterKind::Fenced, &name, 2), Some(0));
/// assert!(registers.write(6, RegisterKind::Fenced, &name, 2, 1));
/// assert!(!registers.write(3, RegisterKind::Fenced, &name, 1, 1));
/// assert!(registers.write(3, RegisterKind::Control, &name, 1, 1));
/// assert_eq!(history.events().len(), 3);
/// ```
pub struct Registers {
    cells: Lock<HashMap<(RegisterKind, Name), Cell>>,
    control_lost: AtomicU64,
    clock: Clock,
    sink: Box<dyn Fn(Event) + Send + Sync>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: u64,
    token_max: u64,
}

impl Registers {
    /// Registers at zero, whose writes go to `sink` with the time of `clock`.
    pub fn new(clock: Clock, sink: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self {
            cells: Lock::default(),
            control_lost: AtomicU64::new(0),
            clock,
            sink: Box::new(sink),
        }
    }

    /// How many updates the registers lost that compare no tokens.
    #[must_use]
    pub fn control_lost(&self) -> u64 {
        self.control_lost.load(Ordering::Relaxed)
    }

    /// Reads under `token`, or `None` when the register refuses it.
    pub fn read(&self, register: RegisterKind, name: &Name, token: u64) -> Option<u64> {
        let mut cells = self.cells.lock();
        let cell = cells.entry((register, name.clone())).or_default();
        cell.admit(register, token).then_some(cell.value)
    }

    /// Writes for `client` under `token`; whether the register accepted it.
    pub fn write(
        &self,
        client: u32,
        register: RegisterKind,
        name: &Name,
        token: u64,
        value: u64,
    ) -> bool {
        // Recorded under the lock: the order of the records is that of the writes.
        let mut cells = self.cells.lock();
        let cell = cells.entry((register, name.clone())).or_default();
        let accepted = cell.admit(register, token);
        if accepted {
            if register == RegisterKind::Control && value != cell.value + 1 {
                self.control_lost.fetch_add(1, Ordering::Relaxed);
            }
            cell.value = value;
        }
        let name = name.clone();
        let kind = EventKind::Write {
            name,
            register,
            token,
            value,
            accepted,
        };
        (self.sink)(Event::new(self.clock.now().as_nanos(), client, kind));
        accepted
    }
}

impl Cell {
    fn admit(&mut self, register: RegisterKind, token: u64) -> bool {
        let admits = register == RegisterKind::Control || token >= self.token_max;
        self.token_max = self.token_max.max(token);
        admits
    }
}

impl fmt::Debug for Registers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registers").finish_non_exhaustive()
    }
}

//! The load of the machine: by this run, by others, and by the hypervisor.

use std::fs;

/// The times since the boot, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// All processors together, idle or not.
    all: u64,
    /// Not idle.
    busy: u64,
    /// Taken by the hypervisor.
    stolen: u64,
    /// Used by this run: its processes, and the servers that are on this machine.
    own: u64,
}

/// Parts of the processor time between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoadParts {
    /// Taken by the hypervisor.
    pub(crate) steal: f64,
    /// Used by other processes.
    pub(crate) foreign: f64,
}

impl Load {
    /// Reads the present times; `others` are the run's further processes. `None` where the system does not say.
    pub(crate) fn read(others: &[u32]) -> Option<Self> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let (all, busy, stolen) = of_machine(&machine)?;
        let others = others.iter().filter_map(|pid| ticks_of(&pid.to_string()));
        let own = ticks_of("self")? + others.sum::<u64>();
        Some(Self {
            all,
            busy,
            stolen,
            own,
        })
    }

    /// The parts since an `earlier` reading; `None` without a tick in between.
    pub(crate) fn since(self, earlier: Self) -> Option<LoadParts> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)?;
        let busy = self.busy.saturating_sub(earlier.busy);
        let own = self.own.saturating_sub(earlier.own);
        #[expect(clippy::cast_precision_loss, reason = "parts for people")]
        let part = |ticks: u64| ticks as f64 / all as f64;
        Some(LoadParts {
            steal: part(self.stolen.saturating_sub(earlier.stolen)),
            foreign: part(busy.saturating_sub(own)),
        })
    }
}

/// The ticks of a process, by its folder in `/proc`.
fn ticks_of(process: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    of_process(&text)
}

/// All, busy and stolen ticks, by the first line of `/proc/stat`.
fn of_machine(text: &str) -> Option<(u64, u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already.
    let &[user, nice, system, idle, iowait, irq, softirq, steal] = ticks.get(..8)?.as_array()?;
    let busy = user + nice + system + irq + softirq;
    Some((busy + idle + iowait + steal, busy, steal))
}

/// The ticks of a process and of its children that have ended, by `/proc/PID/stat`.
fn of_process(text: &str) -> Option<u64> {
    // The name in parentheses may have spaces.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter();
    ticks.map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_known_files() {
        let before = "cpu  100 0 50 800 10 0 10 30 5 0\ncpu0 1\n";
        assert_eq!(of_machine(before), Some((1_000, 160, 30)));
        let stat = "42 (a b) c) S 1 42 42 0 -1 4194560 1 2 3 4 10 20 3 4 20 0 1 0 99 1 1";
        assert_eq!(of_process(stat), Some(37));
        assert_eq!(of_process("42 (a"), None);
    }

    #[test]
    fn what_is_not_ours_is_foreign() {
        let load = |all, busy, stolen, own| Load {
            all,
            busy,
            stolen,
            own,
        };
        let parts = load(1_000, 500, 20, 300).since(load(0, 0, 0, 0));
        let parts = parts.expect("some ticks");
        assert!((parts.foreign - 0.2).abs() < 1e-9 && (parts.steal - 0.02).abs() < 1e-9);
        assert_eq!(load(5, 0, 0, 0).since(load(5, 0, 0, 0)), None);
        assert!(Load::read(&[]).is_some());
    }
}

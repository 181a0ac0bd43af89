//! How much of a difference is noise.

use super::recorded::Summary;
use crate::{
    data::{Badge, Noise, SAME_TWICE, Side, Workload},
    machine::LoadParts,
};

/// The bounds of a quiet machine.
const SAME_TWICE_MAX: f64 = 0.05;
const STEAL_MAX: f64 = 0.02;
const FOREIGN_MAX: f64 = 0.2;

impl Summary<'_> {
    /// The noise of `stores` stores.
    pub(crate) fn noise(&self, stores: u32, load: Option<LoadParts>) -> Noise {
        let same_twice = self.same_twice_of_all(stores);
        let steal = load.map(|load| load.steal);
        let foreign_cpu = load.map(|load| load.foreign);
        let reasons = reasons(same_twice, steal, foreign_cpu);
        Noise {
            badge: if reasons.is_empty() {
                Badge::Quiet
            } else {
                Badge::Noisy
            },
            same_twice,
            steal,
            foreign_cpu,
            reasons,
        }
    }

    /// By how much the same thing differed that was measured twice, on one store.
    pub(super) fn same_twice(&self, store: u32) -> f64 {
        let tasks = self.tasks(store, Workload::Cycle).into_iter();
        let sides = [Side::Again, Side::Dlock];
        let ratios =
            tasks.filter_map(|tasks| self.rate_ratio(store, Workload::Cycle, tasks, sides));
        ratios
            .map(|ratio| differs_by(ratio.value))
            .fold(0.0, f64::max)
    }

    /// The same of all stores: of any of them it may be chance that it was quiet.
    pub(super) fn same_twice_of_all(&self, stores: u32) -> f64 {
        (0..stores)
            .map(|store| self.same_twice(store))
            .fold(0.0, f64::max)
    }
}

/// By how much two numbers with this ratio differ: five times as much and a fifth are the same difference.
fn differs_by(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio) - 1.0
}

fn reasons(same_twice: f64, steal: Option<f64>, foreign: Option<f64>) -> Vec<String> {
    let percent = |part: f64| part * 100.0;
    let mut reasons = Vec::new();
    if same_twice > SAME_TWICE_MAX {
        let (found, max) = (percent(same_twice), percent(SAME_TWICE_MAX));
        reasons.push(format!(
            "{SAME_TWICE} {found:.1} % (quiet: at most {max:.0} %)"
        ));
    }
    if let Some(steal) = steal.filter(|steal| *steal > STEAL_MAX) {
        let (found, max) = (percent(steal), percent(STEAL_MAX));
        reasons.push(format!(
            "the hypervisor took {found:.1} % of the processors (quiet: at most {max:.0} %)"
        ));
    }
    if let Some(foreign) = foreign.filter(|foreign| *foreign > FOREIGN_MAX) {
        let (found, max) = (percent(foreign), percent(FOREIGN_MAX));
        reasons.push(format!(
            "other processes used {found:.0} % of the processors (quiet: at most {max:.0} %)"
        ));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_differs_as_much_as_five_times() {
        assert!((differs_by(5.0) - 4.0).abs() < 1e-9 && (differs_by(0.2) - 4.0).abs() < 1e-9);
        assert!((differs_by(1.02) - 0.02).abs() < 1e-9);
    }

    #[test]
    fn each_bound_has_its_reason() {
        assert!(reasons(0.05, Some(0.02), Some(0.2)).is_empty());
        assert!(reasons(0.01, None, None).is_empty());
        let all = reasons(0.081, Some(0.03), Some(0.5));
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all[0].contains("8.1 %") && all[1].contains("3.0 %") && all[2].contains("50 %"));
    }
}

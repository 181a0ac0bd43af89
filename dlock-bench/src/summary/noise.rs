//! How much of a difference is noise.

use super::recorded::Summary;
use crate::{
    data::{Badge, Noise, Side},
    machine::LoadParts,
};

/// The bounds of a quiet machine.
const SAME_TWICE_MAX: f64 = 0.05;
const STEAL_MAX: f64 = 0.02;
const FOREIGN_MAX: f64 = 0.2;

impl Summary<'_> {
    /// The noise of `stores` stores.
    pub(crate) fn noise(&self, stores: u32, load: Option<LoadParts>) -> Noise {
        let all = (0..stores).map(|store| self.same_twice(store));
        let same_twice = all.fold(0.0, f64::max);
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
        let tasks = self.tasks(store).into_iter();
        let ratios =
            tasks.filter_map(|tasks| self.rate_ratio(store, tasks, Side::Again, Side::Dlock));
        ratios
            .map(|ratio| (ratio.value - 1.0).abs())
            .fold(0.0, f64::max)
    }
}

fn reasons(same_twice: f64, steal: Option<f64>, foreign: Option<f64>) -> Vec<String> {
    let percent = |part: f64| part * 100.0;
    let mut reasons = Vec::new();
    if same_twice > SAME_TWICE_MAX {
        let (found, max) = (percent(same_twice), percent(SAME_TWICE_MAX));
        reasons.push(format!(
            "the same thing twice differs by {found:.1} % (quiet: at most {max:.0} %)"
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
    fn each_bound_has_its_reason() {
        assert!(reasons(0.05, Some(0.02), Some(0.2)).is_empty());
        assert!(reasons(0.01, None, None).is_empty());
        let all = reasons(0.081, Some(0.03), Some(0.5));
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all[0].contains("8.1 %") && all[1].contains("3.0 %") && all[2].contains("50 %"));
    }
}

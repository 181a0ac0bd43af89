//! The differences between stores that are larger than the noise.

use super::{
    cycles::ratios,
    recorded::{Summary, median_of, quotient},
};
use crate::{
    data::{Comparison, Interval, Side, Workload},
    rounds::Record,
};

impl Summary<'_> {
    /// Each store beside the next slower one, for the cycles by each number of tasks and for the hand-over.
    /// `labels` are the names of the stores.
    pub(crate) fn comparisons(&self, labels: &[String]) -> Vec<Comparison> {
        let stores = 0..u32::try_from(labels.len()).unwrap_or(u32::MAX);
        let mut tasks: Vec<u32> = stores.flat_map(|store| self.tasks(store)).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let cycles = tasks.into_iter().map(|tasks| (Workload::Cycle, tasks));
        let all = cycles.chain([(Workload::HandOver, 2)]);
        all.flat_map(|(workload, tasks)| self.ranked(workload, tasks, labels))
            .collect()
    }

    fn ranked(&self, workload: Workload, tasks: u32, labels: &[String]) -> Vec<Comparison> {
        let stores = (0..).zip(labels).filter_map(|(store, label)| {
            let record = self.record(store, workload, tasks, Side::Dlock)?;
            Some((self.speed(workload, record)?, store, label, record))
        });
        let mut stores: Vec<_> = stores.collect();
        stores.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
        let pairs = stores.windows(2).filter_map(|pair| {
            let [(_, fast, faster, one), (_, slow, slower, other)] = pair else {
                return None;
            };
            let times = match workload {
                Workload::HandOver => speeds(one, other),
                _ => ratios(one, other),
            };
            let times = self.bootstrap.median(&times)?;
            let noise = self.same_twice(*fast).max(self.same_twice(*slow));
            is_beyond(times, noise).then(|| Comparison {
                workload,
                tasks,
                faster: (*faster).clone(),
                slower: (*slower).clone(),
                times,
            })
        });
        pairs.collect()
    }

    /// A number that is larger for a faster store.
    fn speed(&self, workload: Workload, record: &Record) -> Option<f64> {
        if workload == Workload::HandOver {
            return Some(1.0 / self.median_ns(record)?.value);
        }
        let rates: Vec<f64> = record.slices.iter().map(crate::data::Slice::rate).collect();
        Some(self.bootstrap.median(&rates)?.value)
    }
}

/// How many times as fast one side's median is as another's, by rounds.
fn speeds(one: &Record, other: &Record) -> Vec<f64> {
    let pairs = one.slices.iter().zip(&other.slices);
    pairs
        .filter_map(|(one, other)| quotient(median_of(other), median_of(one)))
        .collect()
}

/// Whether a ratio is larger than what the same thing twice differs by, with all of its interval.
fn is_beyond(times: Interval, noise: f64) -> bool {
    times.low > 1.0 + noise
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_below_the_noise_is_none() {
        let interval = |low, value, high| Interval { value, low, high };
        assert!(is_beyond(interval(1.06, 1.1, 1.2), 0.05));
        assert!(!is_beyond(interval(1.04, 1.1, 1.2), 0.05));
        assert!(!is_beyond(interval(0.99, 1.1, 1.2), 0.0));
    }
}

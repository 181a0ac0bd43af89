//! The differences between stores that are larger than the noise.

use super::{
    cycles::ratios,
    recorded::{Summary, median_of, quotient},
};
use crate::{
    data::{COUNT_MIN, Comparison, Side, Workload},
    rounds::Record,
};

impl Summary<'_> {
    /// Each store beside the next slower one, for the cycles by each number of tasks and for the hand-over.
    /// `labels` are the names of the stores.
    pub(crate) fn comparisons(&self, labels: &[String]) -> Vec<Comparison> {
        let stores = 0..u32::try_from(labels.len()).unwrap_or(u32::MAX);
        let mut tasks: Vec<u32> = stores
            .flat_map(|store| self.tasks(store, Workload::Cycle))
            .collect();
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
            let is_enough = record.durations.latency()?.count >= COUNT_MIN;
            let record = is_enough.then_some(record)?;
            Some((self.speed(workload, record)?, label, record))
        });
        let mut stores: Vec<_> = stores.collect();
        let noise = self.same_twice_of_all(u32::try_from(labels.len()).unwrap_or(u32::MAX));
        stores.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
        let pairs = stores.windows(2).filter_map(|pair| {
            let [(_, faster, one), (_, slower, other)] = pair else {
                return None;
            };
            let times = match workload {
                Workload::HandOver => speeds(one, other),
                _ => ratios(one, other),
            };
            let times = self.bootstrap.median(&times)?;
            times.is_beyond(noise).then(|| Comparison {
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

#[cfg(test)]
mod tests {
    use crate::data::Interval;

    #[test]
    fn a_difference_below_the_noise_is_none() {
        let interval = |low, value, high| Interval { value, low, high };
        assert!(interval(1.06, 1.1, 1.2).is_beyond(0.05));
        assert!(!interval(1.04, 1.1, 1.2).is_beyond(0.05));
        assert!(!interval(0.99, 1.1, 1.2).is_beyond(0.0));
    }
}

//! Recording with the crate `metrics`: per backend, never per name, so that the number of series is bounded.
//! Without a recorder each call costs some nanoseconds.

use std::{array, sync::Arc, time::Duration};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, with_recorder};

use super::{
    list::{self, Kind, Metric},
    oldest::OldestHold,
};
use crate::base::{
    cause::LostCause,
    error::{Error, ErrorKind},
};

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// The result of a renewal.
#[derive(Clone, Copy)]
pub(crate) enum Renewals {
    Confirmed = 0,
    Failed = 1,
    Lost = 2,
}

/// An operation of the store.
#[derive(Clone, Copy)]
pub(crate) enum StoreOp {
    Acquire = 0,
    Renew = 1,
    Release = 2,
    Inspect = 3,
}

/// The metrics of one locker. The keys are made once. The macros of `metrics` would make one for each
/// call, which is seven for each hold.
#[derive(Debug)]
pub(crate) struct Metrics {
    waiting: Key,
    wait_seconds: Key,
    held: Key,
    hold_seconds: Key,
    oldest_hold_seconds: Key,
    grants: Key,
    contended: Key,
    unavailable: Key,
    lost: [Key; list::CAUSES.len()],
    renewals: [Key; 3],
    renew_lag_seconds: Key,
    margin_ratio: Key,
    store_seconds: [Key; 4],
    releases_pending: Key,
    oldest: OldestHold,
}

/// The release of a lock that has ended, until it is confirmed or given up.
#[must_use]
pub(crate) struct PendingRelease(Arc<Metrics>);

impl Metrics {
    /// Makes the metrics of a locker. The present recorder gets every series with its help text and unit.
    pub(crate) fn new(backend: &'static str) -> Self {
        list::ALL.iter().for_each(|metric| show(metric, backend));
        let key = |metric: &Metric| key(metric, backend, None);
        Self {
            waiting: key(&list::WAITING),
            wait_seconds: key(&list::WAIT_SECONDS),
            held: key(&list::HELD),
            hold_seconds: key(&list::HOLD_SECONDS),
            oldest_hold_seconds: key(&list::OLDEST_HOLD_SECONDS),
            grants: key(&list::GRANTS),
            contended: key(&list::CONTENDED),
            unavailable: key(&list::UNAVAILABLE),
            lost: keys(&list::LOST, backend),
            renewals: keys(&list::RENEWALS, backend),
            renew_lag_seconds: key(&list::RENEW_LAG_SECONDS),
            margin_ratio: key(&list::MARGIN_RATIO),
            store_seconds: keys(&list::STORE_SECONDS, backend),
            releases_pending: key(&list::RELEASES_PENDING),
            oldest: OldestHold::new(backend),
        }
    }

    /// An attempt begins to wait.
    pub(crate) fn waiting(&self) {
        gauge(&self.waiting).increment(1.0);
    }

    /// An attempt has ended, after `waited`, or was dropped.
    pub(crate) fn waited(&self, waited: Duration) {
        gauge(&self.waiting).decrement(1.0);
        histogram(&self.wait_seconds).record(waited);
    }

    pub(crate) fn granted(&self) {
        counter(&self.grants).increment(1);
        gauge(&self.held).increment(1.0);
    }

    pub(crate) fn acquire_failed(&self, error: &Error) {
        match error.kind() {
            ErrorKind::Contended => counter(&self.contended).increment(1),
            ErrorKind::Unavailable => counter(&self.unavailable).increment(1),
            _ => {}
        }
    }

    /// A hold has ended, by release or loss.
    pub(crate) fn ended(&self, held_for: Duration) {
        gauge(&self.held).decrement(1.0);
        histogram(&self.hold_seconds).record(held_for);
    }

    pub(crate) fn lost(&self, cause: LostCause, held_for: Duration) {
        counter(&self.lost[cause as usize]).increment(1);
        self.ended(held_for);
    }

    /// A renewal begins `lag` after it was due.
    pub(crate) fn renewal_lag(&self, lag: Duration) {
        histogram(&self.renew_lag_seconds).record(lag);
    }

    pub(crate) fn renewed(&self, result: Renewals) {
        counter(&self.renewals[result as usize]).increment(1);
    }

    /// A renewal was confirmed when `left` of `ttl` was left.
    pub(crate) fn margin(&self, left: Duration, ttl: Duration) {
        let ratio = left.as_secs_f64() / ttl.as_secs_f64();
        histogram(&self.margin_ratio).record(ratio.min(1.0));
    }

    /// A request to the store has ended.
    pub(crate) fn store_took(&self, op: StoreOp, took: Duration) {
        histogram(&self.store_seconds[op as usize]).record(took);
    }

    /// The oldest hold of the locker has this age; zero if it holds nothing.
    pub(crate) fn oldest_hold(&self, age: Duration) {
        let oldest = self.oldest.set(age);
        gauge(&self.oldest_hold_seconds).set(oldest.as_secs_f64());
    }

    /// Counts a release as pending until the result is dropped.
    pub(crate) fn release_pending(self: &Arc<Self>) -> PendingRelease {
        gauge(&self.releases_pending).increment(1.0);
        PendingRelease(self.clone())
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.oldest_hold(Duration::ZERO);
    }
}

impl Drop for PendingRelease {
    fn drop(&mut self) {
        gauge(&self.0.releases_pending).decrement(1.0);
    }
}

/// Gives the present recorder the description of a metric, and all its series.
fn show(metric: &Metric, backend: &'static str) {
    let (name, unit, help) = (metric.name.into(), Some(metric.unit), metric.help.into());
    with_recorder(|recorder| match metric.kind {
        Kind::Counter => recorder.describe_counter(name, unit, help),
        Kind::Gauge => recorder.describe_gauge(name, unit, help),
        Kind::Histogram => recorder.describe_histogram(name, unit, help),
    });
    let one = metric.values.is_empty().then_some(None);
    let values = metric.values.iter().map(Some);
    for value in one.into_iter().chain(values) {
        let key = key(metric, backend, value.copied());
        match metric.kind {
            Kind::Counter => drop(counter(&key)),
            Kind::Gauge => drop(gauge(&key)),
            Kind::Histogram => drop(histogram(&key)),
        }
    }
}

/// The keys of a metric with a second label, in the order of its values.
fn keys<const N: usize>(metric: &Metric, backend: &'static str) -> [Key; N] {
    array::from_fn(|index| key(metric, backend, metric.values.get(index).copied()))
}

fn key(metric: &Metric, backend: &'static str, value: Option<&'static str>) -> Key {
    let backend = Label::from_static_parts(list::BACKEND, backend);
    let second = value.map(|value| Label::from_static_parts(metric.label, value));
    let labels: Vec<_> = [backend].into_iter().chain(second).collect();
    Key::from_parts(metric.name, labels)
}

/// The counter of the present recorder: one may be installed later.
fn counter(key: &Key) -> Counter {
    with_recorder(|recorder| recorder.register_counter(key, &METADATA))
}

fn gauge(key: &Key) -> Gauge {
    with_recorder(|recorder| recorder.register_gauge(key, &METADATA))
}

fn histogram(key: &Key) -> Histogram {
    with_recorder(|recorder| recorder.register_histogram(key, &METADATA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_has_a_key_for_each_of_its_values() {
        let metrics = Metrics::new("memory");
        for (metric, keys) in [
            (&list::LOST, &metrics.lost[..]),
            (&list::RENEWALS, &metrics.renewals),
            (&list::STORE_SECONDS, &metrics.store_seconds),
        ] {
            let labels = keys.iter().map(|key| key.labels().nth(1).map(Label::value));
            let values = metric.values.iter().copied().map(Some);
            assert!(labels.eq(values), "{}", metric.name);
        }
    }
}

//! The metrics of a locker, recorded with the `metrics` crate: per backend, never per name, so that the
//! number of series is bounded. Without a recorder each costs some nanoseconds.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, with_recorder};

use crate::base::error::{Error, ErrorKind};

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// The metrics of one locker. The keys are made once. The macros of `metrics` would make one for each
/// call, which is seven for each hold.
#[derive(Debug)]
pub(crate) struct Metrics {
    waiting: Key,
    wait_seconds: Key,
    held: Key,
    hold_seconds: Key,
    grants: Key,
    contended: Key,
    unavailable: Key,
    lost: Key,
    renew_lag_seconds: Key,
}

impl Metrics {
    pub(crate) fn new(backend: &'static str) -> Self {
        let key = |name| Key::from_parts(name, vec![Label::new("backend", backend)]);
        Self {
            waiting: key("dlock_waiting"),
            wait_seconds: key("dlock_wait_seconds"),
            held: key("dlock_held"),
            hold_seconds: key("dlock_hold_seconds"),
            grants: key("dlock_grants_total"),
            contended: key("dlock_contended_total"),
            unavailable: key("dlock_unavailable_total"),
            lost: key("dlock_lost_total"),
            renew_lag_seconds: key("dlock_renew_lag_seconds"),
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

    pub(crate) fn lost(&self, held_for: Duration) {
        counter(&self.lost).increment(1);
        self.ended(held_for);
    }

    /// A renewal begins `lag` after it was due.
    pub(crate) fn renewal_lag(&self, lag: Duration) {
        histogram(&self.renew_lag_seconds).record(lag);
    }
}

/// The metrics of the present recorder: one may be installed later.
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
    use std::sync::{Arc, Mutex};

    use metrics::{CounterFn, GaugeFn, HistogramFn, KeyName, Recorder, SharedString, Unit};

    use super::*;

    /// Keeps what is recorded, in words.
    #[derive(Clone, Default)]
    struct Words(Arc<Mutex<Vec<String>>>);

    struct Word(Words, Key);

    impl Word {
        fn say(&self, what: &str) {
            let labels: Vec<_> = self.1.labels().map(|label| label.value()).collect();
            let word = format!("{} {} {what}", self.1.name(), labels.join(","));
            self.0.0.lock().expect("no panic").push(word);
        }
    }

    impl CounterFn for Word {
        fn increment(&self, by: u64) {
            self.say(&format!("+{by}"));
        }

        fn absolute(&self, _: u64) {}
    }

    impl GaugeFn for Word {
        fn increment(&self, by: f64) {
            self.say(&format!("+{by}"));
        }

        fn decrement(&self, by: f64) {
            self.say(&format!("-{by}"));
        }

        fn set(&self, _: f64) {}
    }

    impl HistogramFn for Word {
        fn record(&self, value: f64) {
            self.say(&format!("{value}"));
        }
    }

    impl Recorder for Words {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(Arc::new(Word(self.clone(), key.clone())))
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(Arc::new(Word(self.clone(), key.clone())))
        }

        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::from_arc(Arc::new(Word(self.clone(), key.clone())))
        }
    }

    #[test]
    fn a_recorder_that_comes_later_hears_of_a_hold() {
        let metrics = Metrics::new("memory");
        metrics.waiting();
        let words = Words::default();
        metrics::with_local_recorder(&words, || {
            metrics.waited(Duration::from_secs(2));
            metrics.granted();
            metrics.lost(Duration::from_secs(3));
        });
        let heard = words.0.lock().expect("no panic");
        let expected = [
            "dlock_waiting memory -1",
            "dlock_wait_seconds memory 2",
            "dlock_grants_total memory +1",
            "dlock_held memory +1",
            "dlock_lost_total memory +1",
            "dlock_held memory -1",
            "dlock_hold_seconds memory 3",
        ];
        assert_eq!(*heard, expected);
    }
}

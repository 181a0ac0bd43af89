//! A recorder of the crate `metrics` that keeps everything, for tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// Everything that was recorded, by series: `name{label=value,…}`.
#[derive(Clone, Default)]
pub(crate) struct Recorded(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    /// Unit and help text by name.
    described: BTreeMap<String, (Option<Unit>, String)>,
    /// All series that a program could read.
    series: BTreeSet<String>,
    /// Counters and gauges.
    values: BTreeMap<String, f64>,
    /// Histograms.
    samples: BTreeMap<String, Vec<f64>>,
}

impl Recorded {
    /// All series, in order.
    pub(crate) fn series(&self) -> Vec<String> {
        self.book().series.iter().cloned().collect()
    }

    /// The unit and the help text of a metric.
    pub(crate) fn description(&self, name: &str) -> Option<(Option<Unit>, String)> {
        self.book().described.get(name).cloned()
    }

    /// The value of a counter or a gauge; zero before it is first changed.
    pub(crate) fn value(&self, series: &str) -> f64 {
        let book = self.book();
        assert!(book.series.contains(series), "{series}");
        book.values.get(series).copied().unwrap_or_default()
    }

    /// The samples of a histogram.
    pub(crate) fn samples(&self, series: &str) -> Vec<f64> {
        let book = self.book();
        assert!(book.series.contains(series), "{series}");
        book.samples.get(series).cloned().unwrap_or_default()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, name: &KeyName, unit: Option<Unit>, help: &SharedString) {
        let described = (unit, help.to_string());
        let name = name.as_str().to_owned();
        self.book().described.insert(name, described);
    }

    fn register(&self, key: &Key) -> Arc<Series> {
        let labels: Vec<_> = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        self.book().series.insert(name.clone());
        Arc::new(Series(self.clone(), name))
    }
}

/// One series.
struct Series(Recorded, String);

impl Series {
    fn change(&self, change: impl FnOnce(&mut f64)) {
        change(self.0.book().values.entry(self.1.clone()).or_default());
    }
}

impl CounterFn for Series {
    fn increment(&self, by: u64) {
        self.change(|value| *value += f64::from(u32::try_from(by).expect("small")));
    }

    fn absolute(&self, _: u64) {}
}

impl GaugeFn for Series {
    fn increment(&self, by: f64) {
        self.change(|value| *value += by);
    }

    fn decrement(&self, by: f64) {
        self.change(|value| *value -= by);
    }

    fn set(&self, to: f64) {
        self.change(|value| *value = to);
    }
}

impl HistogramFn for Series {
    fn record(&self, sample: f64) {
        let mut book = self.0.book();
        book.samples.entry(self.1.clone()).or_default().push(sample);
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(&name, unit, &help);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(&name, unit, &help);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(&name, unit, &help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.register(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.register(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.register(key))
    }
}

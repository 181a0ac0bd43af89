//! The table of a run: a line for each store.

use super::{
    numbers::{percent, times},
    verdict::verdict,
};
use crate::{
    data::{Awake, Badge, Comparison, Run, SAME_TWICE, Store, UsedOnce, Workload},
    labels::address,
};

/// The mark of a rate that depends on what else the machine did.
const NOISY: &str = "~";

/// The run as text: a header, a line for each store, and the differences that are larger than the noise.
///
/// Ratios of processor time come first. On a noisy machine rates have a `~` before them. A table that is wider than `width`
/// columns is broken into several.
#[must_use]
pub fn show(run: &Run, width: usize) -> String {
    let shown = Shown(run);
    let mut lines = shown.header();
    lines.extend(shown.main().lines(width));
    lines.extend(shown.more().lines(width));
    lines.extend(shown.differences());
    lines.extend(shown.used_once());
    lines.extend(run.stores.iter().flat_map(|store| verdict(run, store)));
    for store in &run.stores {
        let label = &store.label;
        let url = &store.url;
        let error = store.error.iter();
        lines.extend(error.map(|error| format!("{label}: {url}: {error}")));
        lines.extend(store.notes.iter().map(|note| format!("{label}: {note}")));
    }
    lines.join("\n") + "\n"
}

pub(super) struct Shown<'a>(pub(super) &'a Run);

impl Shown<'_> {
    fn header(&self) -> Vec<String> {
        let run = self.0;
        let count = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let (stores, cores) = (run.stores.len(), run.machine.cores as usize);
        let badge = match run.noise.badge {
            Badge::Quiet => "quiet",
            Badge::Noisy => "noisy",
        };
        let noise = match run.noise.names_same_twice() {
            true => String::new(),
            false => format!(": {SAME_TWICE} {:.1} %", run.noise.same_twice * 100.0),
        };
        let mut lines = vec![format!(
            "{}, {}, {}, seed {}, {badge}{noise}",
            count(stores, "store"),
            count(cores, "core"),
            count(run.rounds.len(), "round"),
            run.seed,
        )];
        let reasons = run.noise.reasons.iter();
        lines.extend(reasons.map(|reason| format!("noisy: {reason}")));
        if run.noise.badge == Badge::Noisy {
            lines.push(format!(
                "rates with {NOISY} depend on that: compare the processor time"
            ));
        }
        lines.extend(run.settings.awake.as_ref().map(|awake| match awake {
            Awake::Cores(cores) => format!(
                "latency: {} kept awake by a process of the class SCHED_IDLE",
                count(*cores as usize, "core")
            ),
            Awake::Not(why) => format!("latency: idle cores slept, which is a part of it: {why}"),
        }));
        if !run.settled {
            let wanted = percent(run.settings.half_width_max);
            lines.push(format!(
                "not settled: an interval is wider than ± {wanted}; a longer --for helps"
            ));
        }
        lines
    }

    /// The differences of the cycles by most tasks; the others are in the data.
    fn differences(&self) -> Vec<String> {
        let tasks = self.most_tasks();
        let words = match tasks {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        };
        let sentence = |one: &Comparison| {
            let [faster, slower] = [&one.faster, &one.slower].map(|label| self.name(label));
            let times = times(one.times);
            format!("locks/s by {words}: {faster} has {times} times as many as {slower}")
        };
        let run = self.0;
        let sentences: Vec<String> = run
            .differences(Workload::Cycle, tasks)
            .map(sentence)
            .collect();
        let measured = run.stores.iter().filter(|store| !store.cycles.is_empty());
        if !sentences.is_empty() || measured.count() < 2 {
            return sentences;
        }
        let noise = run.noise.same_twice * 100.0;
        vec![format!(
            "locks/s by {words}: no difference is larger than the noise of {noise:.1} %"
        )]
    }

    /// How many names were used once, and what they left; nothing if there were none.
    fn used_once(&self) -> Option<String> {
        let mut all = self.0.stores.iter().filter_map(|store| store.used_once);
        let first = all.next()?;
        let sum = all.fold(first, |sum, one| UsedOnce {
            names: sum.names + one.names,
            removed: sum.removed + one.removed,
            locks: sum.locks + one.locks,
        });
        let [names, removed, locks] =
            [sum.names, sum.removed, sum.locks].map(|number| number.to_string());
        Some(format!(
            "{names} names were used once: {removed} rows, files or directories removed by name, {locks} locks left"
        ))
    }

    /// The label of a store, with its address where several have the same backend.
    fn name(&self, label: &str) -> String {
        let mut stores = self.0.stores.iter();
        let found = stores.find(|store| store.label == label);
        let address = found.and_then(|store| address(self.0, store));
        address.map_or_else(|| label.to_owned(), |address| format!("{label} {address}"))
    }

    pub(super) fn rows(&self) -> Vec<String> {
        let row = |store: &Store| {
            let is_partial = store.error.is_some() && !store.cycles.is_empty();
            let partial = if is_partial { " (partial)" } else { "" };
            format!(" {}{partial}", self.name(&store.label))
        };
        self.0.stores.iter().map(row).collect()
    }

    pub(super) fn each(&self, cell: impl Fn(&Store) -> Option<String>) -> Vec<Option<String>> {
        self.0.stores.iter().map(cell).collect()
    }

    pub(super) fn marked(&self, text: String) -> String {
        match self.0.noise.badge {
            Badge::Quiet => text,
            Badge::Noisy => format!("{NOISY}{text}"),
        }
    }

    pub(super) fn most_tasks(&self) -> u32 {
        self.0.settings.tasks.iter().max().copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(run: &Run) -> String {
        show(run, usize::MAX)
    }

    fn sample() -> Run {
        Run::parse(include_str!("../../tests/data/sample.json")).expect("the sample")
    }

    #[test]
    fn each_store_has_a_line_with_all_numbers() {
        let text = shown(&sample());
        let header = "5 stores, 2 cores, 48 rounds, seed 7f3a90c2, quiet: the same thing twice differs by 1.7 %";
        assert_eq!(text.lines().next(), Some(header));
        let redis = text
            .lines()
            .find(|line| line.starts_with(" redis"))
            .expect("a line");
        for cell in ["67 400", "0.60 ±.01", "4.1 ×", "8.", "11."] {
            assert!(redis.contains(cell), "{cell}: {redis}");
        }
        assert!(
            text.contains("locks/s by 64 tasks: redis has 6.4 ± 0.2 times as many as etcd\n"),
            "{text}"
        );
        assert!(
            !text.contains('~') && !text.contains("not settled"),
            "{text}"
        );
    }

    #[test]
    fn names_used_once_are_beside_the_others_and_counted() {
        let mut run = sample();
        let text = shown(&run);
        for part in [
            "  names used once, 64 tasks  ",
            "\n1000000 names were used once: 540000 rows, files or directories removed by name, 0 locks left\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for store in &mut run.stores {
            store.new_names.clear();
            store.used_once = None;
        }
        assert!(!shown(&run).contains("used once"), "{}", shown(&run));
    }

    #[test]
    fn it_is_said_whether_cores_slept() {
        let mut run = sample();
        let text = shown(&run);
        let line = "\nlatency: 2 cores kept awake by a process of the class SCHED_IDLE\n";
        assert!(text.contains(line), "{text}");
        run.settings.awake = Some(Awake::Not("no right to it".to_owned()));
        let text = shown(&run);
        assert!(
            text.contains("cores slept, which is a part of it: no right to it\n"),
            "{text}"
        );
        run.settings.awake = None;
        assert!(!shown(&run).contains("latency:"), "{}", shown(&run));
    }

    #[test]
    fn processor_time_comes_before_rates() {
        let text = shown(&sample());
        let [cpu, rate, locks] = ["server CPU", "rate", "locks/s"].map(|title| text.find(title));
        assert!(cpu.is_some() && cpu < rate && rate < locks, "{text}");
    }

    #[test]
    fn a_noisy_machine_marks_its_rates() {
        let mut run = sample();
        run.noise.badge = Badge::Noisy;
        run.noise.reasons = vec!["a reason".to_owned()];
        run.settled = false;
        let text = shown(&run);
        assert!(
            text.contains("noisy: a reason") && text.contains("~67 400"),
            "{text}"
        );
        assert!(text.contains("not settled"), "{text}");
        let titles = text
            .lines()
            .find(|line| line.contains("one lock"))
            .expect("titles");
        assert!(titles.find("CPU") < titles.find("one lock"), "{titles}");
    }

    #[test]
    fn a_store_that_failed_is_a_line_with_its_error() {
        let mut run = sample();
        let url = run.stores[1].url.clone();
        run.stores[1] = Store {
            label: "redis".to_owned(),
            url,
            error: Some("no answer".to_owned()),
            ..Store::default()
        };
        let text = shown(&run);
        let line = "\nredis: redis://app:***@127.0.0.1:6379: no answer\n";
        assert!(text.contains(line), "{text}");
        assert!(text.lines().any(|line| line == " redis"), "{text}");
    }

    #[test]
    fn a_store_that_failed_later_is_partial() {
        let mut run = sample();
        run.stores[1].error = Some("in round 3: gone".to_owned());
        let text = shown(&run);
        assert!(text.contains("\n redis (partial)  "), "{text}");
        assert!(text.contains(": in round 3: gone\n"), "{text}");
    }

    #[test]
    fn a_difference_below_the_noise_of_the_run_is_none() {
        let mut run = sample();
        run.noise.same_twice = 4.309;
        let text = shown(&run);
        // The largest one stays: 6.2 to 6.6 times.
        assert_eq!(text.matches(" times as many as ").count(), 1, "{text}");
        run.noise.same_twice = 6.0;
        let text = shown(&run);
        assert!(!text.contains("times as many as"), "{text}");
        let line = "\nlocks/s by 64 tasks: no difference is larger than the noise of 600.0 %\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn the_noise_is_named_once() {
        let mut run = sample();
        run.noise.badge = Badge::Noisy;
        run.noise.reasons = vec![format!("{SAME_TWICE} 8.1 % (quiet: at most 5 %)")];
        assert_eq!(shown(&run).matches(SAME_TWICE).count(), 1);
        run.noise.reasons = vec!["another reason".to_owned()];
        assert_eq!(shown(&run).matches(SAME_TWICE).count(), 1);
    }

    #[test]
    fn stores_of_one_backend_are_named_by_their_address() {
        let mut run = sample();
        run.stores[2].backend = "redis".to_owned();
        run.stores[2].url = "redis://me:***@[::1]:6380/0?ttl=10s".to_owned();
        let text = shown(&run);
        for name in [
            "\n redis 127.0.0.1:6379  ",
            "\n etcd [::1]:6380  ",
            "\n zk  ",
        ] {
            assert!(text.contains(name), "{name}: {text}");
        }
        let sentence = "redis 127.0.0.1:6379 has 6.4 ± 0.2 times as many as etcd [::1]:6380";
        assert!(text.contains(sentence), "{text}");
    }

    #[test]
    fn the_tables_fit_the_width_with_a_name_in_each_row() {
        let run = sample();
        let tables = |width| {
            let shown = Shown(&run);
            [shown.main().lines(width), shown.more().lines(width)].concat()
        };
        for width in [80, 100] {
            for line in tables(width) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
        let text = tables(80).join("\n");
        for cell in ["67 400", "0.60 ±.01", "4.1 ×", "ttl", "10 s"] {
            assert!(text.contains(cell), "{cell}: {text}");
        }
        let rows = |width| {
            tables(width)
                .iter()
                .filter(|line| line.starts_with(" redis"))
                .count()
        };
        assert!(rows(80) > rows(usize::MAX), "{text}");
    }

    #[test]
    fn the_median_of_two_is_between_them() {
        let mut run = sample();
        let takeover = run.stores[1].takeover.as_mut().expect("a take-over");
        takeover.killed_ns = vec![8_400_000_000, 8_520_000_000];
        assert!(shown(&run).contains("8.46 s"), "{}", shown(&run));
    }
}

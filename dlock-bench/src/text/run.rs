//! The table of a run: a line for each store.

use super::{
    numbers::{percent, times},
    verdict::verdict,
};
use crate::data::{Badge, Comparison, Run, Store, Workload};

/// The mark of a rate that depends on what else the machine did.
const NOISY: &str = "~";

/// The run as text: a header, a line for each store, and the differences that are larger than the noise.
///
/// On a noisy machine ratios of processor time come first, and rates have a `~` before them.
#[must_use]
pub fn show(run: &Run) -> String {
    let shown = Shown(run);
    let mut lines = shown.header();
    lines.extend(shown.main().lines());
    lines.extend(shown.more());
    lines.extend(run.comparisons.iter().filter_map(|one| shown.sentence(one)));
    lines.extend(run.stores.iter().flat_map(|store| verdict(run, store)));
    for store in &run.stores {
        let label = &store.label;
        lines.extend(store.error.iter().map(|error| format!("{label}: {error}")));
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
        let mut lines = vec![format!(
            "{}, {}, {}, seed {}, {badge}: the same thing twice differs by {:.1} %",
            count(stores, "store"),
            count(cores, "core"),
            count(run.rounds.len(), "round"),
            run.seed,
            run.noise.same_twice * 100.0,
        )];
        let reasons = run.noise.reasons.iter();
        lines.extend(reasons.map(|reason| format!("noisy: {reason}")));
        if run.noise.badge == Badge::Noisy {
            lines.push(format!(
                "rates with {NOISY} depend on that: compare the processor time"
            ));
        }
        if !run.settled {
            let wanted = percent(run.settings.half_width_max);
            lines.push(format!(
                "not settled: an interval is wider than ± {wanted}; a longer --for helps"
            ));
        }
        lines
    }

    /// The differences of the cycles by most tasks; the others are in the data.
    fn sentence(&self, comparison: &Comparison) -> Option<String> {
        let is_main =
            comparison.workload == Workload::Cycle && comparison.tasks == self.most_tasks();
        let Comparison {
            faster,
            slower,
            times: ratio,
            ..
        } = comparison;
        is_main.then(|| format!("{faster} is {} times as fast as {slower}", times(*ratio)))
    }

    pub(super) fn rows(&self) -> Vec<String> {
        self.0
            .stores
            .iter()
            .map(|store| format!(" {}", store.label))
            .collect()
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

    fn sample() -> Run {
        Run::parse(include_str!("../../tests/data/sample.json")).expect("the sample")
    }

    #[test]
    fn each_store_has_a_line_with_all_numbers() {
        let text = show(&sample());
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
            text.contains("redis is 6.4 ± 0.2 times as fast as etcd"),
            "{text}"
        );
        assert!(
            !text.contains('~') && !text.contains("not settled"),
            "{text}"
        );
    }

    #[test]
    fn a_noisy_machine_marks_its_rates() {
        let mut run = sample();
        run.noise.badge = Badge::Noisy;
        run.noise.reasons = vec!["a reason".to_owned()];
        run.settled = false;
        let text = show(&run);
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
        let text = show(&run);
        assert!(text.contains("\nredis: no answer\n"), "{text}");
        assert!(text.lines().any(|line| line == " redis"), "{text}");
    }
}

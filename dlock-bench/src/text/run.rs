//! The table of a run: a line for each store.

use super::{
    columns::{Group, Table},
    numbers::{percent, rate, ratio, time, times},
    verdict::verdict,
};
use crate::{
    data::{Badge, Comparison, Cycles, Run, Store, Workload},
    safety::Safety,
};

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

struct Shown<'a>(&'a Run);

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

    /// The numbers of the default workloads.
    fn main(&self) -> Table {
        let most = self.most_tasks();
        let one = |store: &Store| cycles(store, 1).map(|row| row.dlock.latency.clone());
        let mut groups = vec![
            self.safety(),
            Group::new("one lock")
                .column("p50", self.each(|store| Some(time(one(store)?.p50_ns))))
                .column("p99", self.each(|store| Some(time(one(store)?.p99_ns)))),
            self.throughput(most),
            Group::new("hand-over")
                .column(
                    "p50",
                    self.each(|store| Some(time(store.hand_over.as_ref()?.latency.p50_ns))),
                )
                .column(
                    "p99",
                    self.each(|store| Some(time(store.hand_over.as_ref()?.latency.p99_ns))),
                ),
            Group::new("one shot").column(
                "p50",
                self.each(|store| Some(time(store.one_shot.as_ref()?.latency.p50_ns))),
            ),
            Group::new("after a crash")
                .column(
                    "killed",
                    self.each(|store| median(&store.takeover.as_ref()?.killed_ns)),
                )
                .column(
                    "cut off",
                    self.each(|store| median(store.takeover.as_ref()?.cut_off_ns.as_ref()?)),
                ),
            self.of_driver(most),
        ];
        let cpu = Group::new("CPU of the driver's")
            .column(
                "server",
                self.each(|store| {
                    let ratio = cycles(store, most)?.server_cpu_of_floor?;
                    Some(format!("{:.1} ×", ratio.value))
                }),
            )
            .column(
                "client",
                self.each(|store| {
                    let ratio = cycles(store, most)?.client_cpu_of_floor?;
                    Some(format!("{:.1} ×", ratio.value))
                }),
            );
        match self.0.noise.badge {
            Badge::Quiet => groups.push(cpu),
            Badge::Noisy => groups.insert(0, cpu),
        }
        Table {
            rows: self.rows(),
            groups,
        }
    }

    /// The verdicts in a word; nothing if there are none.
    fn safety(&self) -> Group {
        let word = |store: &Store| {
            self.0.verdicts.as_ref()?;
            let (sign, words) = Safety::of(self.0.verdict(store)).shown();
            Some(format!("{sign} {words}"))
        };
        Group::new("safety").column("", self.each(word))
    }

    fn throughput(&self, most: u32) -> Group {
        let title = match most {
            64 => "64 tasks",
            8 => "8 tasks",
            _ => "most tasks",
        };
        Group::new(title)
            .column(
                "locks/s",
                self.each(|store| {
                    let row = cycles(store, most)?;
                    Some(self.marked(rate(row.dlock.per_second.value)))
                }),
            )
            .column(
                "of limit",
                self.each(|store| {
                    let limit = cycles(store, most)?.limit.as_ref()?;
                    Some(self.marked(percent(limit.reached)))
                }),
            )
    }

    fn of_driver(&self, most: u32) -> Group {
        let of = |store: &Store, tasks| {
            let found = cycles(store, tasks)?.of_floor?;
            Some(self.marked(ratio(found)))
        };
        let group = Group::new("rate of the driver's").column("1", self.each(|store| of(store, 1)));
        match most {
            1 => group,
            most => group.column(most.to_string(), self.each(|store| of(store, most))),
        }
    }

    /// The numbers of the other workloads; nothing if none was measured.
    fn more(&self) -> Vec<String> {
        let latency = |store: &Store| store.steady.as_ref().map(|steady| steady.latency.clone());
        let held = |store: &Store| store.held.iter().max_by_key(|held| held.locks).cloned();
        let table = Table {
            rows: self.rows(),
            groups: vec![
                Group::new("steady, from when due")
                    .column("p50", self.each(|store| Some(time(latency(store)?.p50_ns))))
                    .column("p99", self.each(|store| Some(time(latency(store)?.p99_ns))))
                    .column(
                        "p99.9",
                        self.each(|store| Some(time(latency(store)?.p999_ns))),
                    ),
                Group::new("8 processes, one lock")
                    .column(
                        "locks/s",
                        self.each(|store| {
                            Some(self.marked(rate(store.contention.as_ref()?.per_second)))
                        }),
                    )
                    .column(
                        "Jain",
                        self.each(|store| Some(format!("{:.2}", store.contention.as_ref()?.jain))),
                    )
                    .column(
                        "longest wait",
                        self.each(|store| Some(time(store.contention.as_ref()?.longest_wait_ns))),
                    ),
                Group::new("most locks held")
                    .column(
                        "locks",
                        self.each(|store| Some(rate(held(store)?.locks.into()))),
                    )
                    .column(
                        "requests/s",
                        self.each(|store| Some(rate(held(store)?.server_requests_per_second?))),
                    )
                    .column(
                        "bytes each",
                        self.each(|store| Some(rate(held(store)?.server_bytes_each?))),
                    )
                    .column(
                        "ttl left",
                        self.each(|store| Some(percent(held(store)?.ttl_left_min))),
                    ),
            ],
        };
        table.lines()
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

    fn rows(&self) -> Vec<String> {
        self.0
            .stores
            .iter()
            .map(|store| format!(" {}", store.label))
            .collect()
    }

    fn each(&self, cell: impl Fn(&Store) -> Option<String>) -> Vec<Option<String>> {
        self.0.stores.iter().map(cell).collect()
    }

    fn marked(&self, text: String) -> String {
        match self.0.noise.badge {
            Badge::Quiet => text,
            Badge::Noisy => format!("{NOISY}{text}"),
        }
    }

    fn most_tasks(&self) -> u32 {
        self.0.settings.tasks.iter().max().copied().unwrap_or(1)
    }
}

fn cycles(store: &Store, tasks: u32) -> Option<&Cycles> {
    store.cycles.iter().find(|row| row.tasks == tasks)
}

fn median(nanos: &[u64]) -> Option<String> {
    let mut sorted = nanos.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).map(|&nanos| time(nanos))
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

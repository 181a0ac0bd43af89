//! From slices to medians, and to ratios to the driver in the same round.

use super::{
    contended::{contended, hand_over, herds},
    entrant::Entrant,
    rounds::{MANY, ONE},
    slice::{Done, Slice, micros},
};
use crate::{
    data::{ClientRun, Cycles, Interval, Ratios},
    names::{FLOOR, RAW},
    process,
};

/// The figures of all clients. `round_trips` are the server's, in milliseconds by round.
pub(crate) fn summary(entrants: &[Entrant], round_trips: &[(u32, f64)]) -> Vec<ClientRun> {
    let of = |entrant: &Entrant| {
        let beside = Beside {
            ours: &entrant.slices,
            raw: slices_of(entrants, RAW),
            floor: slices_of(entrants, FLOOR),
        };
        ClientRun {
            client: entrant.client,
            version: entrant.version.clone(),
            missing: entrant.missing().map(str::to_owned),
            again: entrant.again,
            one: beside.cycles(again(ONE)),
            many: beside.cycles(again(MANY)),
            once_one: beside.once(ONE),
            once_many: beside.once(MANY),
            apart: beside.cycles(apart),
            hand_over: hand_over(&entrant.slices, round_trips),
            contended: contended(&entrant.slices),
            herds: herds(&entrant.slices),
        }
    };
    entrants.iter().map(of).collect()
}

fn slices_of<'a>(entrants: &'a [Entrant], name: &str) -> &'a [Slice] {
    let mut entrants = entrants.iter();
    let found = entrants.find(|entrant| entrant.client.name == name);
    found.map_or(&[], |entrant| &entrant.slices)
}

/// The slices of a client, and those that it is compared with.
struct Beside<'a> {
    ours: &'a [Slice],
    raw: &'a [Slice],
    floor: &'a [Slice],
}

impl Beside<'_> {
    /// The figures of the slices that `of` chooses.
    fn cycles(&self, of: impl Fn(&Done) -> Option<&process::Cycles>) -> Option<Cycles> {
        let [ours, raw, floor] = [self.ours, self.raw, self.floor].map(|all| rates(all, &of));
        let pairs = pairs(&ours, &raw);
        let ratio = |of: fn(&Rates) -> f64| Interval::of(pairs.iter().map(|(a, b)| of(a) / of(b)));
        let all = |of: fn(&Rates) -> f64| Interval::of(ours.iter().map(of));
        Some(Cycles {
            per_second: all(|rates| rates.per_second)?,
            client_us: all(|rates| rates.client_us)?,
            server_us: all(|rates| rates.server_us)?,
            of_raw: ratios(ratio),
            of_floor: Interval::of(by_round(&ours, &floor).into_iter().map(|(_, ratio)| ratio)),
            of_again: None,
        })
    }

    /// Cycles on names that are used once.
    fn once(&self, tasks: usize) -> Option<Cycles> {
        let ratios = |of: &dyn Fn(&Done) -> Option<&process::Cycles>| {
            by_round(&rates(self.ours, of), &rates(self.raw, of))
        };
        let of_again = ratios(&again(tasks));
        let once = ratios(&new(tasks)).into_iter();
        let parts = once.filter_map(|(round, once)| {
            let (_, again) = of_again.iter().find(|(other, _)| *other == round)?;
            Some(once / again)
        });
        Some(Cycles {
            of_again: Interval::of(parts),
            ..self.cycles(new(tasks))?
        })
    }
}

/// Figures of the cycles of one round.
#[derive(Clone, Copy)]
struct Rates {
    round: u32,
    per_second: f64,
    client_us: f64,
    server_us: f64,
}

/// The rates of one round beside each other.
fn pairs<'a>(ours: &'a [Rates], other: &'a [Rates]) -> Vec<(&'a Rates, &'a Rates)> {
    let with = |ours: &'a Rates| {
        let mut other = other.iter();
        Some((ours, other.find(|other| other.round == ours.round)?))
    };
    ours.iter().filter_map(with).collect()
}

/// The ratios of the rates, by round.
fn by_round(ours: &[Rates], other: &[Rates]) -> Vec<(u32, f64)> {
    let pairs = pairs(ours, other).into_iter();
    pairs
        .map(|(ours, other)| (ours.round, ours.per_second / other.per_second))
        .collect()
}

/// The cycles of a slice of this many tasks.
fn again(wanted: usize) -> impl Fn(&Done) -> Option<&process::Cycles> {
    move |done| match done {
        Done::Cycles { tasks, cycles } if *tasks == wanted => Some(cycles),
        _ => None,
    }
}

/// The same on names that are used once.
fn new(wanted: usize) -> impl Fn(&Done) -> Option<&process::Cycles> {
    move |done| match done {
        Done::Once { tasks, cycles } if *tasks == wanted => Some(cycles),
        _ => None,
    }
}

/// The cycles of tasks with a connection each.
fn apart(done: &Done) -> Option<&process::Cycles> {
    match done {
        Done::Apart(cycles) => Some(cycles),
        _ => None,
    }
}

fn ratios(of: impl Fn(fn(&Rates) -> f64) -> Option<Interval>) -> Option<Ratios> {
    Some(Ratios {
        per_second: of(|rates| rates.per_second)?,
        client_cpu: of(|rates| rates.client_us),
        server_cpu: of(|rates| rates.server_us),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
fn rates(slices: &[Slice], of: impl Fn(&Done) -> Option<&process::Cycles>) -> Vec<Rates> {
    let rates = slices.iter().filter_map(|slice| {
        let cycles = of(&slice.done).filter(|cycles| cycles.cycles > 0)?;
        let count = cycles.cycles as f64;
        Some(Rates {
            round: slice.round,
            per_second: count / cycles.seconds,
            client_us: micros(slice.client_cpu) / count,
            server_us: micros(slice.server_cpu) / count,
        })
    });
    rates.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn slice(round: u32, cycles: u64, cpu_ms: u64) -> Slice {
        let cpu = Duration::from_millis(cpu_ms);
        let cycles = process::Cycles {
            cycles,
            seconds: 0.5,
        };
        Slice {
            round,
            done: Done::Cycles { tasks: ONE, cycles },
            client_cpu: cpu,
            server_cpu: cpu * 2,
        }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let ours = [slice(1, 100, 10), slice(2, 300, 60), slice(4, 7, 1)];
        let raw = [slice(2, 600, 30), slice(1, 400, 10), slice(3, 1, 1)];
        let beside = Beside {
            ours: &ours,
            raw: &raw,
            floor: &raw[1..],
        };
        let figures = beside.cycles(again(ONE)).unwrap();
        assert_eq!(figures.per_second.value, 200.0);
        assert_eq!(figures.client_us.value, 1e6 / 7.0 / 1e3);
        let ratios = figures.of_raw.unwrap();
        assert_eq!((ratios.per_second.low, ratios.per_second.high), (0.25, 0.5));
        assert_eq!(ratios.client_cpu.unwrap().value, 4.0);
        assert_eq!(figures.of_floor.unwrap().value, 0.25);
        assert!(beside.cycles(again(MANY)).is_none());
    }

    #[test]
    fn without_processor_time_there_is_no_ratio_to_it() {
        let beside = Beside {
            ours: &[slice(1, 5, 10)],
            raw: &[slice(1, 5, 0)],
            floor: &[],
        };
        let figures = beside.cycles(again(ONE)).unwrap();
        assert_eq!(figures.of_floor, None);
        let ratios = figures.of_raw.unwrap();
        assert_eq!(ratios.per_second.value, 1.0);
        assert_eq!(ratios.client_cpu, None);
    }
}

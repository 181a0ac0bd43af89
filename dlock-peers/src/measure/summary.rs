//! From slices to medians, and to ratios to the driver in the same round.

use super::{
    contended::{contended, hand_over, herds},
    entrant::Entrant,
    rounds::{MANY, ONE},
    slice::{Done, Slice, micros},
};
use crate::{
    data::{ClientRun, Cycles, Interval, Ratios},
    names::RAW,
    process,
};

/// The figures of all clients. `round_trips` are the server's, in milliseconds by round.
pub(crate) fn summary(entrants: &[Entrant], round_trips: &[(u32, f64)]) -> Vec<ClientRun> {
    let mut raw = entrants.iter();
    let raw = raw.find(|entrant| entrant.client.name == RAW);
    let raw = raw.map_or(&[][..], |raw| &raw.slices);
    let of = |entrant: &Entrant| ClientRun {
        client: entrant.client,
        version: entrant.version.clone(),
        missing: entrant.missing().map(str::to_owned),
        again: entrant.again,
        one: cycles(&entrant.slices, raw, ONE),
        many: cycles(&entrant.slices, raw, MANY),
        once_one: once(&entrant.slices, raw, ONE),
        once_many: once(&entrant.slices, raw, MANY),
        hand_over: hand_over(&entrant.slices, round_trips),
        contended: contended(&entrant.slices),
        herds: herds(&entrant.slices),
    };
    entrants.iter().map(of).collect()
}

/// Figures of the cycles of one round.
#[derive(Clone, Copy)]
struct Rates {
    round: u32,
    per_second: f64,
    client_us: f64,
    server_us: f64,
}

/// Cycles on names that are used again and again.
fn cycles(slices: &[Slice], raw: &[Slice], tasks: usize) -> Option<Cycles> {
    let of = |slices| rates(slices, again(tasks));
    figures(&of(slices), &of(raw))
}

/// Cycles on names that are used once.
fn once(slices: &[Slice], raw: &[Slice], tasks: usize) -> Option<Cycles> {
    let of = |slices| rates(slices, new(tasks));
    let (ours, raw_once) = (of(slices), of(raw));
    let ours_again = ratios_by_round(&rates(slices, again(tasks)), &rates(raw, again(tasks)));
    let ours_once = ratios_by_round(&ours, &raw_once);
    let of_again = ours_once.iter().filter_map(|(round, once)| {
        let mut again = ours_again.iter();
        let (_, again) = again.find(|(other, _)| other == round)?;
        Some(once / again)
    });
    Some(Cycles {
        of_again: Interval::of(of_again),
        ..figures(&ours, &raw_once)?
    })
}

fn figures(ours: &[Rates], raw: &[Rates]) -> Option<Cycles> {
    let pairs = pairs(ours, raw);
    let ratio = |of: fn(&Rates) -> f64| Interval::of(pairs.iter().map(|(a, b)| of(a) / of(b)));
    let all = |of: fn(&Rates) -> f64| Interval::of(ours.iter().map(of));
    Some(Cycles {
        per_second: all(|rates| rates.per_second)?,
        client_us: all(|rates| rates.client_us)?,
        server_us: all(|rates| rates.server_us)?,
        of_raw: ratios(ratio),
        of_again: None,
    })
}

/// The rates of one round beside each other.
fn pairs<'a>(ours: &'a [Rates], raw: &'a [Rates]) -> Vec<(&'a Rates, &'a Rates)> {
    ours.iter()
        .filter_map(|ours| Some((ours, raw.iter().find(|raw| raw.round == ours.round)?)))
        .collect()
}

fn ratios_by_round(ours: &[Rates], raw: &[Rates]) -> Vec<(u32, f64)> {
    let pairs = pairs(ours, raw).into_iter();
    pairs
        .map(|(ours, raw)| (ours.round, ours.per_second / raw.per_second))
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
        let figures = cycles(&ours, &raw, ONE).unwrap();
        assert_eq!(figures.per_second.value, 200.0);
        assert_eq!(figures.client_us.value, 1e6 / 7.0 / 1e3);
        let ratios = figures.of_raw.unwrap();
        assert_eq!((ratios.per_second.low, ratios.per_second.high), (0.25, 0.5));
        assert_eq!(ratios.client_cpu.unwrap().value, 4.0);
        assert!(cycles(&ours, &raw, MANY).is_none());
    }

    #[test]
    fn what_was_too_short_has_no_ratio_of_processor_time() {
        let figures = cycles(&[slice(1, 5, 10)], &[slice(1, 5, 0)], ONE).unwrap();
        let ratios = figures.of_raw.unwrap();
        assert_eq!(ratios.per_second.value, 1.0);
        assert_eq!(ratios.client_cpu, None);
    }
}

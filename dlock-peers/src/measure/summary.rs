//! From slices to medians, and to ratios to the driver in the same round.

use std::time::Duration;

use dlock_bench::jain;

use super::{
    entrant::Entrant,
    rounds::{MANY, ONE},
    slice::{Done, Slice},
};
use crate::{
    data::{ClientRun, Contended, Cycles, HandOver, Interval, Ratios},
    names::RAW,
};

/// The figures of all clients.
pub(crate) fn summary(entrants: &[Entrant]) -> Vec<ClientRun> {
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
        hand_over: hand_over(&entrant.slices),
        contended: contended(&entrant.slices),
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

fn cycles(slices: &[Slice], raw: &[Slice], tasks: usize) -> Option<Cycles> {
    let (ours, raw) = (rates(slices, tasks), rates(raw, tasks));
    let pairs: Vec<_> = ours
        .iter()
        .filter_map(|ours| Some((ours, raw.iter().find(|raw| raw.round == ours.round)?)))
        .collect();
    let ratio = |of: fn(&Rates) -> f64| Interval::of(pairs.iter().map(|(a, b)| of(a) / of(b)));
    let all = |of: fn(&Rates) -> f64| Interval::of(ours.iter().map(of));
    Some(Cycles {
        per_second: all(|rates| rates.per_second)?,
        client_us: all(|rates| rates.client_us)?,
        server_us: all(|rates| rates.server_us)?,
        of_raw: ratios(ratio),
    })
}

fn ratios(of: impl Fn(fn(&Rates) -> f64) -> Option<Interval>) -> Option<Ratios> {
    Some(Ratios {
        per_second: of(|rates| rates.per_second)?,
        client_cpu: of(|rates| rates.client_us)?,
        server_cpu: of(|rates| rates.server_us)?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
fn rates(slices: &[Slice], wanted: usize) -> Vec<Rates> {
    let rates = slices.iter().filter_map(|slice| match &slice.done {
        Done::Cycles { tasks, cycles } if *tasks == wanted && cycles.cycles > 0 => {
            let count = cycles.cycles as f64;
            Some(Rates {
                round: slice.round,
                per_second: count / cycles.seconds,
                client_us: micros(slice.client_cpu) / count,
                server_us: micros(slice.server_cpu) / count,
            })
        }
        _ => None,
    });
    rates.collect()
}

fn hand_over(slices: &[Slice]) -> Option<HandOver> {
    let mut times: Vec<f64> = slices
        .iter()
        .filter_map(|slice| match &slice.done {
            Done::HandOver(times) => Some(&times.hand_overs_ms),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    times.sort_by(f64::total_cmp);
    Some(HandOver {
        count: times.len(),
        median_ms: *times.get(times.len() / 2)?,
        p90_ms: *times.get(times.len() * 9 / 10)?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
fn contended(slices: &[Slice]) -> Option<Contended> {
    let rounds: Vec<_> = slices
        .iter()
        .filter_map(|slice| match &slice.done {
            Done::Contended(contended) => Some((slice, contended)),
            _ => None,
        })
        .collect();
    let grants =
        |contended: &crate::process::Contended| contended.grants.iter().sum::<u64>().max(1) as f64;
    let waits = rounds
        .iter()
        .map(|(_, contended)| contended.longest_wait_ms);
    Some(Contended {
        per_second: Interval::of(rounds.iter().map(|(_, c)| grants(c) / c.seconds))?,
        moved_per_second: Interval::of(rounds.iter().map(|(_, c)| c.moved as f64 / c.seconds))?,
        jain: Interval::of(rounds.iter().map(|(_, c)| jain(&c.grants)))?,
        longest_wait_ms: waits.fold(0.0, f64::max),
        client_us: Interval::of(
            rounds
                .iter()
                .map(|(slice, c)| micros(slice.client_cpu) / grants(c)),
        )?,
        server_us: Interval::of(
            rounds
                .iter()
                .map(|(slice, c)| micros(slice.server_cpu) / grants(c)),
        )?,
    })
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

impl Interval {
    /// The median and the extremes; none of nothing, and of a ratio to less than a tick of the kernel.
    fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let all_finite = values.iter().all(|value| value.is_finite());
        all_finite.then_some(())?;
        Some(Self {
            value: *values.get(values.len() / 2)?,
            low: *values.first()?,
            high: *values.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

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
        assert_eq!(ratios.client_cpu.value, 4.0);
        assert!(cycles(&ours, &raw, MANY).is_none());
    }

    #[test]
    fn what_was_too_short_has_no_ratio() {
        let figures = cycles(&[slice(1, 5, 10)], &[slice(1, 5, 0)], ONE).unwrap();
        assert!(figures.of_raw.is_none());
    }
}

//! The figures of locks that several clients want.

use std::time::Duration;

use dlock_bench::jain;

use super::slice::{Done, Slice, micros};
use crate::{
    data::{Contended, HandOver, Herd, Interval},
    process,
};

/// `round_trips` are the server's, in milliseconds by round.
pub(super) fn hand_over(slices: &[Slice], round_trips: &[(u32, f64)]) -> Option<HandOver> {
    let (mut all, mut of_rounds) = (Vec::new(), Vec::new());
    for slice in slices {
        let Done::HandOver(times) = &slice.done else {
            continue;
        };
        all.extend(&times.hand_overs_ms);
        let mut unit = round_trips.iter();
        let unit = unit.find(|(round, _)| *round == slice.round);
        let median = Interval::of(times.hand_overs_ms.iter().copied());
        of_rounds.extend(
            median
                .zip(unit)
                .map(|(median, (_, unit))| median.value / unit),
        );
    }
    all.sort_by(f64::total_cmp);
    Some(HandOver {
        count: all.len(),
        median_ms: *all.get(all.len() / 2)?,
        p90_ms: *all.get(all.len() * 9 / 10)?,
        round_trips: Interval::of(of_rounds),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
pub(super) fn contended(slices: &[Slice]) -> Option<Contended> {
    let rounds: Vec<_> = slices
        .iter()
        .filter_map(|slice| match &slice.done {
            Done::Contended(contended) => Some((slice, contended)),
            _ => None,
        })
        .collect();
    let grants =
        |contended: &process::Contended| contended.grants.iter().sum::<u64>().max(1) as f64;
    let cpu = |of: fn(&Slice) -> Duration| {
        Interval::of(
            rounds
                .iter()
                .map(|(slice, c)| micros(of(slice)) / grants(c)),
        )
    };
    let all: Vec<_> = rounds.iter().map(|(_, contended)| *contended).collect();
    Some(Contended {
        per_second: Interval::of(all.iter().map(|c| grants(c) / c.seconds))?,
        moved_per_second: moved_per_second(&all)?,
        jain: shares(&all)?,
        longest_wait_ms: longest_wait_ms(&all),
        client_us: cpu(|slice| slice.client_cpu)?,
        server_us: cpu(|slice| slice.server_cpu)?,
    })
}

/// The herds, in the order of the first round.
pub(super) fn herds(slices: &[Slice]) -> Vec<Herd> {
    let mut kinds = Vec::new();
    for slice in slices {
        if let Done::Herd { clients, hold, .. } = slice.done
            && !kinds.contains(&(clients, hold))
        {
            kinds.push((clients, hold));
        }
    }
    let herds = kinds.into_iter();
    herds.filter_map(|kind| herd(slices, kind)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
fn herd(slices: &[Slice], kind: (usize, Duration)) -> Option<Herd> {
    let (mut all, mut tries_of_rounds) = (Vec::new(), Vec::new());
    for slice in slices {
        if let Done::Herd {
            clients,
            hold,
            contended,
            tries,
        } = &slice.done
            && (*clients, *hold) == kind
        {
            all.push(contended);
            tries_of_rounds.push(*tries as f64 / contended.granted.max(1) as f64);
        }
    }
    Some(Herd {
        clients: kind.0,
        hold_ms: kind.1.as_secs_f64() * 1e3,
        tries: Interval::of(tries_of_rounds)?,
        moved_per_second: moved_per_second(&all)?,
        jain: shares(&all)?,
        longest_wait_ms: longest_wait_ms(&all),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
fn moved_per_second(rounds: &[&process::Contended]) -> Option<Interval> {
    Interval::of(rounds.iter().map(|c| c.moved as f64 / c.seconds))
}

fn shares(rounds: &[&process::Contended]) -> Option<Interval> {
    Interval::of(rounds.iter().map(|c| jain(&c.grants)))
}

fn longest_wait_ms(rounds: &[&process::Contended]) -> f64 {
    let waits = rounds.iter().map(|c| c.longest_wait_ms);
    waits.fold(0.0, f64::max)
}

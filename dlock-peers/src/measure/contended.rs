//! The figures of locks that several clients want.

use std::time::Duration;

use dlock_bench::jain;

use super::slice::{Done, Slice, micros};
use crate::{
    data::{Contended, HandOver, Herd, Interval, Shares},
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
        jain: evenness(&all)?,
        shares: shares(&all),
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
        jain: evenness(&all)?,
        shares: shares(&all),
        longest_wait_ms: longest_wait_ms(&all),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
fn moved_per_second(rounds: &[&process::Contended]) -> Option<Interval> {
    Interval::of(rounds.iter().map(|c| c.moved as f64 / c.seconds))
}

fn evenness(rounds: &[&process::Contended]) -> Option<Interval> {
    Interval::of(rounds.iter().map(|c| jain(&c.grants)))
}

#[expect(clippy::cast_precision_loss, reason = "counts of some seconds")]
fn shares(rounds: &[&process::Contended]) -> Shares {
    let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
    for contended in rounds {
        let equal = contended.grants.iter().sum::<u64>().max(1) as f64;
        let equal = equal / contended.grants.len() as f64;
        for grants in &contended.grants {
            least = least.min(*grants as f64 / equal);
            greatest = greatest.max(*grants as f64 / equal);
        }
    }
    Shares { least, greatest }
}

fn longest_wait_ms(rounds: &[&process::Contended]) -> f64 {
    let waits = rounds.iter().map(|c| c.longest_wait_ms);
    waits.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_all_rounds() {
        let round = |grants: &[u64]| process::Contended {
            grants: grants.to_vec(),
            moved: 0,
            longest_wait_ms: 1.0,
            seconds: 1.0,
            granted: 0,
        };
        let (even, uneven) = (round(&[2, 2]), round(&[1, 0, 8, 3]));
        let all = shares(&[&even, &uneven]);
        assert_eq!((all.least, all.greatest), (0.0, 8.0 / 3.0));
        let even = shares(&[&even]);
        assert_eq!((even.least, even.greatest), (1.0, 1.0));
    }
}

//! The tables of ratios that have a bound: each with the interval that its median is in, with a confidence of 95 %.

use super::{
    cells::{cell, sure},
    data::{Cycles, Interval, Ratios, Store},
    rows::rows,
};

const AGAIN: [&str; 6] = [
    "client",
    "cycles, one task",
    "64 tasks",
    "of the floor, one task",
    "64 tasks",
    "hand-over, in round trips",
];

const ONCE: [&str; 9] = [
    "names used once",
    "client CPU, one task",
    "64 tasks",
    "server CPU, one task",
    "64 tasks",
    "cycles, one task",
    "64 tasks",
    "of names used again, one task",
    "64 tasks",
];

const APART: [&str; 5] = [
    "64 tasks, a connection each",
    "client CPU",
    "server CPU",
    "cycles",
    "of the floor",
];

/// The cycles of names that are used again and again, and the hand-over.
pub(super) fn again(store: &Store) -> Option<String> {
    rows(&AGAIN, store, |client| {
        let (one, many) = (client.one.as_ref(), client.many.as_ref());
        let hand_over = client.hand_over.as_ref();
        let figures = [
            one.and_then(per_second),
            many.and_then(per_second),
            one.and_then(|cycles| cycles.of_floor),
            many.and_then(|cycles| cycles.of_floor),
            hand_over.and_then(|hand_over| hand_over.round_trips),
        ];
        figures.map(|figure| cell(figure, sure))
    })
}

/// The cycles of names that are used once.
pub(super) fn once(store: &Store) -> Option<String> {
    rows(&ONCE, store, |client| {
        let (one, many) = (client.once_one.as_ref(), client.once_many.as_ref());
        let figures = [
            one.and_then(client_cpu),
            many.and_then(client_cpu),
            one.and_then(server_cpu),
            many.and_then(server_cpu),
            one.and_then(per_second),
            many.and_then(per_second),
            one.and_then(|cycles| cycles.of_again),
            many.and_then(|cycles| cycles.of_again),
        ];
        figures.map(|figure| cell(figure, sure))
    })
}

/// The cycles of tasks with a connection each.
pub(super) fn apart(store: &Store) -> Option<String> {
    rows(&APART, store, |client| {
        let apart = client.apart.as_ref();
        let figures = [
            apart.and_then(client_cpu),
            apart.and_then(server_cpu),
            apart.and_then(per_second),
            apart.and_then(|cycles| cycles.of_floor),
        ];
        figures.map(|figure| cell(figure, sure))
    })
}

fn of_raw(cycles: &Cycles) -> Option<&Ratios> {
    cycles.of_raw.as_ref()
}

fn per_second(cycles: &Cycles) -> Option<Interval> {
    Some(of_raw(cycles)?.per_second)
}

fn client_cpu(cycles: &Cycles) -> Option<Interval> {
    of_raw(cycles)?.client_cpu
}

fn server_cpu(cycles: &Cycles) -> Option<Interval> {
    of_raw(cycles)?.server_cpu
}

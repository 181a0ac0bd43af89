//! The checker is checked: each good history passes, each bad one is flagged for what is wrong.

use std::time::Duration;

use dlock_core::{backend::DistributedLock, memory::Memory};
use dlock_verify::{
    checker::{Bounds, Facts, Violation, check},
    history::{Access, Event, EventKind, FencedRegister},
};
use proptest::prelude::*;

/// The end of a hold without a deadline.
const FOREVER: u64 = u64::MAX;

fn requested(at: u64, client: u32, op: u64) -> Event {
    Event::new(
        at,
        client,
        EventKind::Requested {
            op,
            name: "n".into(),
            shared: false,
            waits: true,
        },
    )
}

fn requested_shared(at: u64, client: u32, op: u64) -> Event {
    Event::new(
        at,
        client,
        EventKind::Requested {
            op,
            name: "n".into(),
            shared: true,
            waits: true,
        },
    )
}

fn granted(at: u64, client: u32, op: u64, token: u64, until: u64) -> Event {
    Event::new(at, client, EventKind::Granted { op, token, until })
}

fn releasing(at: u64, client: u32, op: u64) -> Event {
    Event::new(at, client, EventKind::Releasing { op })
}

fn lost(at: u64, client: u32, op: u64) -> Event {
    Event::new(at, client, EventKind::Lost { op })
}

fn reported(at: u64, client: u32, op: u64, until: u64) -> Event {
    Event::new(at, client, EventKind::Reported { op, until })
}

fn killed(at: u64, client: u32) -> Event {
    Event::new(at, client, EventKind::Killed)
}

/// The violations of a run.
fn violations(events: &[Event], accesses: Vec<Access>) -> Vec<Violation> {
    let mut facts: Facts = events.iter().collect();
    facts.fenced = accesses;
    let capabilities = (&Memory::new().capabilities()).into();
    let bounds = Bounds::new(Duration::from_secs(1), &capabilities);
    check(&facts, &bounds).violations().cloned().collect()
}

/// The violations, by kind.
fn kinds(events: &[Event]) -> Vec<&'static str> {
    violations(events, Vec::new()).iter().map(kind).collect()
}

fn kind(violation: &Violation) -> &'static str {
    assert!(
        !violation.to_string().contains('\n'),
        "one line: {violation}"
    );
    match violation {
        Violation::Overlap { .. } => "overlap",
        Violation::Tokens { .. } => "tokens",
        Violation::StaleAccess { .. } => "stale",
        Violation::LostUpdate { .. } => "lost update",
        Violation::Malformed { .. } => "malformed",
        _ => "new",
    }
}

#[test]
fn one_after_the_other_is_good() {
    let events = [
        requested(0, 1, 0),
        requested(1, 2, 0),
        granted(2, 1, 0, 7, 100),
        releasing(50, 1, 0),
        granted(51, 2, 0, 8, 200),
        releasing(60, 2, 0),
    ];
    assert_eq!(kinds(&events), [""; 0]);
}

#[test]
fn two_at_once_overlap() {
    let events = [
        requested(0, 1, 0),
        requested(1, 2, 0),
        granted(2, 1, 0, 7, 100),
        granted(49, 2, 0, 8, 200),
        releasing(50, 1, 0),
        releasing(60, 2, 0),
    ];
    assert_eq!(kinds(&events), ["overlap"]);
    let line = violations(&events, Vec::new())[0].to_string();
    let expected = "\"n\" was held twice: client 1 attempt 0 (exclusive, token 7, requested 0.000000 s, held 0.000000 s to 0.000000 s) and client 2";
    assert!(line.starts_with(expected), "{line}");
}

#[test]
fn a_long_hold_overlaps_with_all_that_start_in_it() {
    let mut events = vec![requested(0, 1, 0), granted(1, 1, 0, 1, FOREVER)];
    for op in 0..3 {
        let at = 10 + 10 * op;
        events.extend([
            requested(at, 2, op),
            granted(at + 1, 2, op, 2 + op, FOREVER),
        ]);
        events.push(releasing(at + 2, 2, op));
    }
    assert_eq!(kinds(&events), ["overlap"; 3]);
}

#[test]
fn shared_ones_may_overlap_but_not_with_an_exclusive_one() {
    let mut events = vec![
        requested_shared(0, 1, 0),
        granted(1, 1, 0, 1, 100),
        requested_shared(2, 2, 0),
        granted(3, 2, 0, 2, 100),
    ];
    assert_eq!(kinds(&events), [""; 0]);
    events.extend([requested(4, 3, 0), granted(5, 3, 0, 3, 100)]);
    assert_eq!(kinds(&events), ["overlap"]);
}

#[test]
fn a_deadline_ends_a_hold_and_a_report_moves_it() {
    let first = [requested(0, 1, 0), granted(1, 1, 0, 1, 100)];
    let second = [requested(2, 2, 0), granted(100, 2, 0, 2, 300)];
    let good = [&first[..], &second[..]].concat();
    assert_eq!(kinds(&good), [""; 0]);
    let moved = [&first[..], &[reported(50, 1, 0, 101)], &second[..]].concat();
    assert_eq!(kinds(&moved), ["overlap"]);
}

#[test]
fn a_loss_ends_a_hold() {
    let events = [
        requested(0, 1, 0),
        granted(1, 1, 0, 1, FOREVER),
        lost(9, 1, 0),
        requested(2, 2, 0),
        granted(10, 2, 0, 2, FOREVER),
    ];
    assert_eq!(kinds(&events), [""; 0]);
}

#[test]
fn a_killed_process_holds_nothing() {
    let hold = [requested(0, 1, 0), granted(1, 1, 0, 1, FOREVER)];
    let next = [requested(2, 2, 0), granted(10, 2, 0, 2, FOREVER)];
    assert_eq!(
        kinds(&[&hold[..], &[killed(9, 1)], &next[..]].concat()),
        [""; 0]
    );
    assert_eq!(
        kinds(&[&hold[..], &[killed(11, 1)], &next[..]].concat()),
        ["overlap"]
    );
    // The death of another one changes nothing.
    assert_eq!(
        kinds(&[&hold[..], &[killed(9, 3)], &next[..]].concat()),
        ["overlap"]
    );
}

#[test]
fn a_grant_that_is_over_when_it_returns_holds_nothing() {
    let events = [
        requested(0, 1, 0),
        granted(1, 1, 0, 1, 100),
        requested(2, 2, 0),
        granted(50, 2, 0, 2, 50),
    ];
    assert_eq!(kinds(&events), [""; 0]);
}

#[test]
fn tokens_that_fall_are_flagged() {
    let events = [
        requested(0, 1, 0),
        granted(1, 1, 0, 9, 100),
        releasing(2, 1, 0),
        requested(3, 2, 0),
        granted(4, 2, 0, 8, 100),
    ];
    assert_eq!(kinds(&events), ["tokens"]);
}

#[test]
fn a_waiter_has_a_larger_token_than_what_it_waited_for() {
    let events = [
        requested(0, 2, 0),
        requested(0, 1, 0),
        granted(1, 1, 0, 9, 100),
        releasing(2, 1, 0),
        granted(4, 2, 0, 8, 100),
    ];
    assert_eq!(kinds(&events), ["tokens"]);
}

#[test]
fn tokens_that_repeat_are_flagged_in_any_order() {
    let events = [
        requested_shared(0, 1, 0),
        requested_shared(0, 2, 0),
        granted(1, 1, 0, 5, 100),
        granted(2, 2, 0, 5, 100),
    ];
    assert_eq!(kinds(&events), ["tokens"]);
}

#[test]
fn shared_ones_that_were_requested_at_once_have_no_order() {
    let events = [
        requested_shared(0, 1, 0),
        requested_shared(0, 2, 0),
        granted(1, 1, 0, 6, 100),
        granted(2, 2, 0, 5, 100),
    ];
    assert_eq!(kinds(&events), [""; 0]);
}

#[test]
fn names_have_nothing_to_do_with_each_other() {
    let other = EventKind::Requested {
        op: 0,
        name: "other".into(),
        shared: false,
        waits: true,
    };
    let events = [
        requested(0, 1, 0),
        granted(1, 1, 0, 9, 100),
        Event::new(2, 2, other),
        granted(3, 2, 0, 9, 100),
    ];
    assert_eq!(kinds(&events), [""; 0]);
}

#[test]
fn events_that_cannot_be_are_flagged() {
    assert_eq!(kinds(&[granted(1, 1, 0, 9, 100)]), ["malformed"]);
    assert_eq!(kinds(&[releasing(1, 1, 0)]), ["malformed"]);
    let hold = [requested(0, 1, 0), granted(1, 1, 0, 9, 100)];
    let revived = [&hold[..], &[lost(2, 1, 0), reported(3, 1, 0, 200)]].concat();
    assert_eq!(kinds(&revived), ["malformed"]);
    let refused = [
        requested(0, 1, 0),
        Event::new(1, 1, EventKind::Cancelled { op: 0 }),
    ];
    assert_eq!(kinds(&refused), [""; 0]);
}

/// A log as the register writes it, of accesses that were all accepted.
fn accesses(log: &[(u64, Option<u64>)]) -> Vec<Access> {
    let access = |(token, wrote)| Access {
        name: "n".into(),
        token,
        wrote,
        accepted: true,
    };
    log.iter().copied().map(access).collect()
}

#[test]
fn a_register_that_refuses_the_stale_is_good() {
    let register = FencedRegister::default();
    assert_eq!(register.read("n", 1), Some(0));
    assert_eq!(register.read("n", 2), Some(0));
    assert!(register.write("n", 2, 1));
    assert!(!register.write("n", 1, 1));
    assert_eq!(register.read("n", 3), Some(1));
    assert!(register.write("n", 3, 2));
    assert_eq!(violations(&[], register.log()), []);
}

#[test]
fn a_register_that_accepts_the_stale_is_flagged() {
    let log = accesses(&[(1, None), (2, None), (2, Some(1)), (1, Some(1))]);
    let kinds: Vec<_> = violations(&[], log).iter().map(kind).collect();
    assert_eq!(kinds, ["stale", "lost update"]);
}

#[test]
fn two_holders_of_one_token_lose_an_update() {
    let log = accesses(&[(1, None), (1, None), (1, Some(1)), (1, Some(1))]);
    let kinds: Vec<_> = violations(&[], log).iter().map(kind).collect();
    assert_eq!(kinds, ["lost update"]);
}

/// Holds that follow each other. Each has its holder, how long it waited, how long it lasted, how long the lock
/// was free after it, and how it ended.
fn serial() -> impl Strategy<Value = Vec<Event>> {
    let hold = (0u32..5, 0u64..500, 1u64..100, 0u64..3, 0u8..4);
    prop::collection::vec(hold, 2..40).prop_map(|holds| {
        let (mut events, mut now) = (Vec::new(), 1_000);
        for (op, (client, waited, lasted, free, end)) in (0u64..).zip(holds) {
            let until = if end == 0 { now + lasted } else { FOREVER };
            events.push(requested(now - waited, client, op));
            events.push(granted(now, client, op, op + 1, until));
            now += lasted;
            match end {
                0 => {}
                1 => events.push(lost(now, client, op)),
                2 => events.push(releasing(now, client, op)),
                _ => events.push(killed(now, client)),
            }
            now += free;
        }
        events
    })
}

/// Where the grants are.
fn grants(events: &[Event]) -> Vec<usize> {
    let granted = |event: &Event| matches!(event.kind, EventKind::Granted { .. });
    (0..events.len())
        .filter(|index| granted(&events[*index]))
        .collect()
}

proptest! {
    #[test]
    fn serial_histories_are_good(events in serial()) {
        prop_assert_eq!(violations(&events, Vec::new()), []);
    }

    #[test]
    fn a_grant_that_comes_too_early_is_flagged(mut events in serial(), pick: prop::sample::Index) {
        let grants = grants(&events);
        let pick = 1 + pick.index(grants.len() - 1);
        // Into the hold before it, which began at least 1 earlier.
        let before = events[grants[pick - 1]].at;
        events[grants[pick]].at = before;
        let request = grants[pick] - 1;
        events[request].at = events[request].at.min(before);
        let overlaps = violations(&events, Vec::new()).iter().any(|found| kind(found) == "overlap");
        prop_assert!(overlaps, "not flagged: {:?}", events);
    }

    #[test]
    fn two_tokens_that_change_places_are_flagged(mut events in serial(), pick: prop::sample::Index) {
        let grants = grants(&events);
        let pick = pick.index(grants.len() - 1);
        let (first, second) = (grants[pick], grants[pick + 1]);
        let token = |event: &Event| match event.kind {
            EventKind::Granted { token, .. } => token,
            _ => 0,
        };
        let tokens = (token(&events[first]), token(&events[second]));
        for (index, new) in [(first, tokens.1), (second, tokens.0)] {
            if let EventKind::Granted { token, .. } = &mut events[index].kind {
                *token = new;
            }
        }
        let order = violations(&events, Vec::new()).iter().any(|found| kind(found) == "tokens");
        prop_assert!(order, "not flagged: {:?}", events);
    }
}

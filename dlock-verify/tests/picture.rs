//! Pictures of violations, letter for letter.

use std::time::Duration;

use dlock_core::{backend::DistributedLock, memory::Memory};
use dlock_verify::{
    checker::{Bounds, Check, Facts, check},
    history::{Entry, Event, EventKind, FaultPhase, RefusalEffect, RefusalKind},
    picture::{LINES_MAX, picture},
};

const MS: u64 = 1_000_000;

fn event(ms: u64, client: u32, kind: EventKind) -> Event {
    Event::new(ms * MS, client, kind)
}

fn requested(ms: u64, client: u32, waits: bool) -> Event {
    let (op, name, shared) = (0, "n07".into(), false);
    let kind = EventKind::Requested {
        op,
        name,
        shared,
        waits,
    };
    event(ms, client, kind)
}

fn granted(ms: u64, client: u32, token: u64, until_ms: u64) -> Event {
    let (op, until) = (0, until_ms * MS);
    event(ms, client, EventKind::Granted { op, token, until })
}

fn fault(id: u32, from_ms: u64, to_ms: u64) -> [Event; 2] {
    [(from_ms, FaultPhase::Begun), (to_ms, FaultPhase::Ended)].map(|(ms, phase)| {
        let (kind, target) = ("failover".into(), "replica 1".into());
        let kind = EventKind::Fault {
            id,
            kind,
            target,
            phase,
        };
        event(ms, 0, kind)
    })
}

/// The picture of the first violation of `wanted`.
#[expect(clippy::expect_used, reason = "the report has all checks")]
fn drawn(events: &[Event], wanted: Check) -> String {
    let facts: Facts = events.iter().collect();
    let capabilities = (&Memory::new().capabilities()).into();
    let report = check(&facts, &Bounds::new(Duration::from_secs(1), &capabilities));
    let verdict = report.verdict(wanted).expect("wanted");
    let text = picture(
        &verdict.violations()[0],
        &facts,
        &["seed 7f3a90c2, redis 7.0.15"],
    );
    assert!(text.lines().count() <= LINES_MAX);
    text
}

#[test]
fn two_holders() {
    let mut events = vec![event(0, 9, EventKind::Killed)];
    events.extend([requested(14_200, 3, true), granted(14_230, 3, 1041, 14_811)]);
    events.extend(fault(31, 14_310, 14_420));
    events.extend([requested(14_250, 6, true), granted(14_450, 6, 1042, 15_900)]);
    events.push(event(15_000, 6, EventKind::Releasing { op: 0 }));
    assert_eq!(
        drawn(&events, Check::Exclusion),
        include_str!("pictures/two_holders.txt")
    );
}

#[test]
fn a_waiter_that_is_not_granted() {
    let mut events = vec![requested(0, 1, true), granted(5, 1, 1, 900)];
    events.push(event(20, 1, EventKind::Releasing { op: 0 }));
    events.push(event(21, 1, EventKind::Released { op: 0 }));
    events.push(requested(10, 2, true));
    events.push(granted(1_500, 2, 2, 5_000));
    assert_eq!(
        drawn(&events, Check::Liveness),
        include_str!("pictures/waiter.txt")
    );
}

#[test]
fn a_refusal_of_a_free_lock() {
    let mut events = vec![requested(0, 1, true), granted(5, 1, 1, 900)];
    events.push(event(20, 1, EventKind::Releasing { op: 0 }));
    events.push(event(21, 1, EventKind::Released { op: 0 }));
    events.push(requested(30, 2, false));
    let (op, kind, effect) = (0, RefusalKind::Contended, RefusalEffect::None);
    events.push(event(35, 2, EventKind::Refused { op, kind, effect }));
    assert_eq!(
        drawn(&events, Check::Contention),
        include_str!("pictures/refusal.txt")
    );
}

#[test]
fn a_loss_that_is_late() {
    let mut events = vec![requested(0, 1, true), granted(5, 1, 1, 900)];
    let (op, every) = (0, 10 * MS);
    events.push(event(6, 1, EventKind::Watched { op, every }));
    events.push(event(500, 1, EventKind::Stopped));
    events.push(event(700, 1, EventKind::Resumed));
    events.push(event(1_100, 1, EventKind::Lost { op }));
    events.push(event(1_200, 9, EventKind::Killed));
    assert_eq!(
        drawn(&events, Check::Loss),
        include_str!("pictures/loss.txt")
    );
}

#[test]
fn an_entry_that_is_left() {
    let mut events = vec![requested(0, 1, true), granted(5, 1, 1, 900)];
    events.push(event(20, 1, EventKind::Releasing { op: 0 }));
    events.push(event(21, 1, EventKind::Released { op: 0 }));
    let entries = vec![Entry {
        name: "n07".into(),
        what: "dlock:{n07}".to_owned(),
        documented: false,
        owner: None,
    }];
    events.push(event(40, 0, EventKind::Listed { entries }));
    assert_eq!(
        drawn(&events, Check::Residue),
        include_str!("pictures/residue.txt")
    );
}

#[test]
fn many_faults_fit() {
    let mut events = vec![requested(0, 1, true), granted(5, 1, 1, 900)];
    events.extend([requested(10, 2, true), granted(20, 2, 2, 900)]);
    for id in 0..100 {
        events.extend(fault(id, 5 * u64::from(id), 5 * u64::from(id) + 3));
    }
    let text = drawn(&events, Check::Exclusion);
    assert!(
        text.contains("99 failover") && !text.contains(" 87 failover"),
        "{text}"
    );
}

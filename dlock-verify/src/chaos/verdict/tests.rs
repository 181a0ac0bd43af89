//! Tests of the verdict.

use super::*;
use crate::{
    chaos::run::{Bites, Settled},
    history::{Event, EventKind},
};

const MS: u64 = 1_000_000;

/// A run in which two clients hold one name at once, from 200 ms on, and the control loses an update.
fn overlap(struck: &[(&str, u64, u64)]) -> RunReport {
    let mut events = Vec::new();
    for (client, at) in [(1, 100), (2, 200)] {
        let (op, at, name) = (0, at * MS, "n".into());
        let (shared, waits, until) = (false, true, at + 1_000 * MS);
        let requested = EventKind::Requested {
            op,
            name,
            shared,
            waits,
        };
        events.push(Event::new(at - MS, client, requested));
        let token = client.into();
        events.push(Event::new(
            at,
            client,
            EventKind::Granted { op, token, until },
        ));
    }
    for token in [1, 2] {
        let write = EventKind::Write {
            name: "n".into(),
            register: crate::history::RegisterKind::Control,
            token,
            value: 1,
            accepted: true,
        };
        events.push(Event::new(300 * MS, 1, write));
    }
    let mut report = RunReport::empty();
    report.events = events;
    report.struck = struck
        .iter()
        .map(|(fault, begin, end)| Struck::new(7, fault, begin * MS, end * MS))
        .collect();
    report
}

fn exception() -> Exception {
    let text = |text: &str| text.to_owned();
    Exception {
        id: text("redis.key-removed"),
        store: text("redis"),
        fault: text("key-removed"),
        clause: text("K1"),
        anchor: text("README.md#exceptions"),
        after: None,
        lost_counter: false,
    }
}

const WINDOW: Duration = Duration::from_millis(50);

#[test]
fn a_violation_without_an_exception_is_broken() {
    let report = overlap(&[("key-removed", 100, 160)]);
    let judgement = judge(&report, &[], &[], WINDOW);
    assert!(!judgement.holds());
    let [finding] = &judgement.broken[..] else {
        panic!("{judgement:?}");
    };
    assert_eq!((finding.clause, finding.card), ("K1", Some(7)));
    assert!(finding.picture.is_some());
}

#[test]
fn an_exception_covers_its_fault_while_it_is_on_and_soon_after() {
    let exception = exception();
    let judged = |struck| judge(&overlap(&[struck]), &[&exception], &[], WINDOW);
    for on in [("key-removed", 100, 300), ("key-removed", 100, 160)] {
        let judgement = judged(on);
        assert!(judgement.holds(), "{judgement:?}");
        assert_eq!(judgement.declared[&exception.row()], 1);
    }
    for other in [("key-removed", 100, 140), ("server-kill", 100, 300)] {
        assert_eq!(judged(other).broken.len(), 1, "{other:?}");
    }
}

#[test]
fn a_fault_that_never_bit_fails_unless_the_time_was_over_before() {
    let mut report = overlap(&[("key-removed", 100, 300)]);
    let exception = exception();
    report
        .bites
        .insert("key-removed".to_owned(), Bites::default());
    let judged =
        |report: &RunReport| judge(report, &[&exception], &["key-removed", "net-cut"], WINDOW).tame;
    assert_eq!(judged(&report), ["key-removed", "net-cut"]);
    report.cut_short = true;
    assert_eq!(judged(&report), ["key-removed"]);
    let bites = Bites {
        bites: 1,
        ..Bites::default()
    };
    report.bites.insert("key-removed".to_owned(), bites);
    assert!(judged(&report).is_empty());
}

#[test]
fn a_control_that_lost_nothing_fails() {
    let mut report = overlap(&[]);
    let late = WRITES_LATE.to_owned();
    report.bites.insert(late, Bites::default());
    report
        .events
        .retain(|event| !matches!(event.kind, EventKind::Write { .. }));
    let judgement = judge(&report, &[], &[], WINDOW);
    assert!(
        judgement.failures[0].contains("the control"),
        "{judgement:?}"
    );
}

#[test]
fn a_name_that_stays_taken_is_broken_only_on_a_fast_machine() {
    let mut report = overlap(&[]);
    let mut settled = Settled::empty();
    settled.taken = vec!["n: taken".to_owned()];
    report.settled = vec![settled.clone()];
    let judged = |report: &RunReport| {
        let judgement = judge(report, &[], &[], WINDOW);
        let broken = judgement
            .broken
            .iter()
            .filter(|finding| finding.clause == "K6");
        broken.count()
    };
    assert_eq!(judged(&report), 1);
    settled.lag = LAG_MAX * 2;
    report.settled = vec![settled];
    assert_eq!(judged(&report), 0);
}

#[test]
fn each_fault_has_its_grants_and_what_broke_while_it_was_on() {
    let mut report = overlap(&[
        ("key-removed", 100, 140),
        ("net-cut", 180, 190),
        ("net-cut", 185, 210),
        ("stop-worker", 300, 310),
    ]);
    let bites = Bites {
        bites: 3,
        ..Bites::default()
    };
    report.bites.insert("net-cut".to_owned(), bites);
    let effects = judge(&report, &[], &[], WINDOW).effects;
    let effect = |strikes, bites, grants, broken| Effect {
        strikes,
        bites,
        grants,
        broken,
        declared: 0,
    };
    // The grants are at 100 and 200 ms, and the second one breaks K1.
    assert_eq!(effects["key-removed"], effect(1, 0, 1, 0));
    assert_eq!(effects["net-cut"], effect(2, 3, 1, 1));
    assert_eq!(effects["stop-worker"], effect(1, 0, 0, 0));
    let exception = Exception {
        fault: "net-cut".to_owned(),
        ..exception()
    };
    let cut = judge(&report, &[&exception], &[], WINDOW).effects["net-cut"];
    assert_eq!((cut.broken, cut.declared), (0, 1));
}

#[test]
fn a_malformed_history_is_a_failure_and_no_broken_promise() {
    let mut report = overlap(&[("key-removed", 100, 160)]);
    report.events.truncate(2);
    let (op, token, until) = (9, 3, 900 * MS);
    let granted = EventKind::Granted { op, token, until };
    report.events.push(Event::new(150 * MS, 1, granted));
    let judgement = judge(&report, &[], &[], WINDOW);
    assert_eq!(judgement.malformed.len(), 1, "{judgement:?}");
    assert_eq!(judgement.broken, []);
    assert_eq!(judgement.effects["key-removed"].broken, 0);
    assert!(!judgement.holds());
}

/// A run of one name with these grants: client, time in ms and token. Each is released after 5 ms.
fn granted(grants: &[(u32, u64, u64)], struck: &[(&str, u64, u64)]) -> RunReport {
    let mut report = overlap(struck);
    report
        .events
        .retain(|event| matches!(event.kind, EventKind::Write { .. }));
    for (op, (client, at, token)) in (0..).zip(grants) {
        let (name, at, token) = ("n".into(), at * MS, *token);
        let (shared, waits, until) = (false, true, at + 1_000 * MS);
        let kinds = [
            EventKind::Requested {
                op,
                name,
                shared,
                waits,
            },
            EventKind::Granted { op, token, until },
            EventKind::Releasing { op },
            EventKind::Released { op },
        ];
        for (kind, after) in kinds.into_iter().zip([0, 1, 5, 6]) {
            report
                .events
                .push(Event::new(at + after * MS, *client, kind));
        }
    }
    report
}

#[test]
fn a_lost_counter_explains_tokens_only_across_the_loss_and_behind_a_clock_that_was_set_back() {
    let exception = Exception {
        fault: "flushall".to_owned(),
        clause: "K5".to_owned(),
        after: Some("clock-back".to_owned()),
        lost_counter: true,
        ..exception()
    };
    let judged = |grants: &[_], struck: &[_]| {
        let judgement = judge(&granted(grants, struck), &[&exception], &[], WINDOW);
        let of_tokens = judgement.broken.iter();
        let broken = of_tokens.filter(|finding| finding.clause == "K5").count();
        (broken, judgement.declared.values().sum::<u64>())
    };
    let back = ("clock-back", 100, 140);
    let flush = ("flushall", 200, 260);
    let before = (1, 150, 900);
    let across = [before, (2, 270, 500), (2, 280, 501)];
    assert_eq!(judged(&across, &[back, flush]), (0, 1));
    // The clock is as it was, or is set back later.
    assert_eq!(judged(&across, &[flush]), (1, 0));
    let later = ("clock-back", 290, 300);
    assert_eq!(judged(&across, &[flush, later]), (1, 0));
    // The locker has been given a higher token.
    let own = [before, (1, 270, 500)];
    assert_eq!(judged(&own, &[back, flush]), (1, 0));
    // It was given through a locker that the client has replaced since.
    let mut replaced = granted(&own, &[back, flush]);
    let (op, locker) = (1, 1);
    let after_grant = replaced.events.len() - 2;
    let of_locker = Event::new(271 * MS, 1, EventKind::OfLocker { op, locker });
    replaced.events.insert(after_grant, of_locker);
    let judgement = judge(&replaced, &[&exception], &[], WINDOW);
    assert!(judgement.broken.is_empty(), "{judgement:?}");
    // Both are after the loss: one of the two violations is of the present counter.
    let after = [before, (2, 270, 500), (3, 280, 499)];
    assert_eq!(judged(&after, &[back, flush]), (1, 1));
    // A later grant that is explained does not hide one that is not.
    let hidden = [before, (2, 160, 400), (3, 270, 300)];
    assert_eq!(judged(&hidden, &[back, flush]).0, 1);
}

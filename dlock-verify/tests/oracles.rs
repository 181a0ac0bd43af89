//! The checks of contention (C6b) and of losses (C8) against definitions that are simple and slow.

use std::time::Duration;

use dlock_core::{backend::DistributedLock, memory::Memory};
use dlock_verify::{
    checker::{Bounds, Facts, contention, loss},
    history::{Event, EventKind, FaultPhase, RefusalEffect, RefusalKind},
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const TTL: u64 = 30;
const TAKEOVER: u64 = 10;

/// A ttl of 30 ms, and takeovers within 10 ms.
fn bounds() -> Bounds {
    let capabilities = (&Memory::new().capabilities()).into();
    Bounds::new(Duration::from_millis(TTL), &capabilities)
}

fn history(mut events: Vec<Event>) -> Facts {
    // Stable: those of one client stay in order.
    events.sort_by_key(|event| event.at);
    let facts: Facts = events.iter().collect();
    assert_eq!(facts.malformed, []);
    facts
}

fn event(ms: u64, client: u32, kind: EventKind) -> Event {
    Event::new(ms * MS, client, kind)
}

/// How an attempt goes on after its request.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Released,
    Expired,
    Refused,
    RefusedLate,
    NoReply,
    Denied,
    Cancelled,
}

/// One attempt: its request, how long it took, how long the hold lasted, and its fate.
type Attempt = (u64, u64, u64, Fate);

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let fate = prop::sample::select(vec![
        Fate::Released,
        Fate::Expired,
        Fate::Refused,
        Fate::Refused,
        Fate::Refused,
        Fate::RefusedLate,
        Fate::NoReply,
        Fate::Denied,
        Fate::Cancelled,
    ]);
    prop::collection::vec((0u64..300, 0u64..12, 1u64..12, fate), 1..12)
}

fn attempt_events(client: u32, (requested, took, lasted, fate): Attempt) -> Vec<Event> {
    let op = 0;
    let returned = requested + took;
    let refused = |kind, effect| EventKind::Refused { op, kind, effect };
    let ends = match fate {
        Fate::Released | Fate::Expired => EventKind::Granted {
            op,
            token: 1 + u64::from(client),
            until: (returned + lasted) * MS,
        },
        Fate::Refused | Fate::RefusedLate => refused(RefusalKind::Contended, RefusalEffect::None),
        Fate::NoReply => refused(RefusalKind::Unavailable, RefusalEffect::Unknown),
        Fate::Denied => refused(RefusalKind::Denied, RefusalEffect::None),
        Fate::Cancelled => EventKind::Cancelled { op },
    };
    let request = EventKind::Requested {
        op,
        name: "n".into(),
        shared: false,
        waits: !matches!(fate, Fate::Refused),
    };
    let mut events = vec![
        event(requested, client, request),
        event(returned, client, ends),
    ];
    if matches!(fate, Fate::Released) {
        let released = returned + lasted;
        events.push(event(released, client, EventKind::Releasing { op }));
        events.push(event(released, client, EventKind::Released { op }));
    }
    events
}

/// A fault, and whether it harms the servers and not one worker.
#[derive(Clone, Copy, Debug)]
struct Fault {
    from: u64,
    to: u64,
    of_servers: bool,
}

fn fault() -> impl Strategy<Value = Fault> {
    (0u64..300, 1u64..40, any::<bool>()).prop_map(|(from, lasted, of_servers)| Fault {
        from,
        to: from + lasted,
        of_servers,
    })
}

/// When the store may have an entry of the attempt, by the definition.
fn present((requested, took, lasted, fate): Attempt, fault: Fault) -> (u64, u64) {
    let returned = requested + took;
    let (ended, is_over) = match fate {
        Fate::Released => (returned + lasted, true),
        Fate::Expired => (returned + lasted, false),
        Fate::Refused | Fate::Denied => (returned, true),
        Fate::RefusedLate | Fate::NoReply | Fate::Cancelled => (returned, false),
    };
    if is_over {
        return (requested, ended);
    }
    // A request may be held back until the fault ends.
    let is_held_back = fault.from <= ended && requested <= fault.to;
    // The servers may count the ttl from zero after it.
    let begins_again = fault.of_servers && (ended..=ended + TTL + TAKEOVER).contains(&fault.from);
    let counted_from = match is_held_back || begins_again {
        true => ended.max(fault.to),
        false => ended,
    };
    (requested, counted_from + TTL + TAKEOVER)
}

/// The number of groups of attempts in which all are tries that were refused.
fn groups_refused(attempts: &[Attempt], fault: Fault) -> usize {
    let spans: Vec<_> = attempts.iter().map(|one| present(*one, fault)).collect();
    let mut group: Vec<usize> = (0..attempts.len()).collect();
    for _ in attempts {
        for (one, a) in spans.iter().enumerate() {
            for (other, b) in spans.iter().enumerate() {
                if a.0 <= b.1 && b.0 <= a.1 {
                    let least = group[one].min(group[other]);
                    (group[one], group[other]) = (least, least);
                }
            }
        }
    }
    let is_refused = |number: usize| {
        let mut members = (0..attempts.len())
            .filter(|one| group[*one] == number)
            .peekable();
        members.peek().is_some() && members.all(|one| matches!(attempts[one].3, Fate::Refused))
    };
    (0..attempts.len())
        .filter(|number| is_refused(*number))
        .count()
}

/// A hold whose loss is awaited.
#[derive(Clone, Debug)]
struct Watched {
    until: u64,
    removed: Option<u64>,
    lost: Option<u64>,
    quit: Option<u64>,
    /// The times at which its process was stopped, as pauses and lengths.
    stops: Vec<(u64, u64)>,
}

/// How often the deadline of a hold is recorded.
const EVERY: u64 = 7;

/// A loss may be reported this late.
const LATE: u64 = 50;

fn watched() -> impl Strategy<Value = Watched> {
    let at = || prop::option::of(1u64..500);
    let stops = prop::collection::vec((1u64..200, 1u64..200), 0..3);
    (1u64..300, at(), at(), at(), stops).prop_map(|(until, removed, lost, quit, stops)| Watched {
        until,
        removed,
        lost,
        quit,
        stops,
    })
}

impl Watched {
    fn stops(&self) -> Vec<(u64, u64)> {
        let mut now = 0;
        let mut spans = Vec::new();
        for (pause, length) in &self.stops {
            spans.push((now + pause, now + pause + length));
            now += pause + length;
        }
        spans
    }

    fn events(&self, ends: u64) -> Vec<Event> {
        let op = 0;
        let request = EventKind::Requested {
            op,
            name: "n".into(),
            shared: false,
            waits: true,
        };
        let (token, until) = (1, self.until * MS);
        let every = EVERY * MS;
        let mut events = vec![
            event(0, 1, request),
            event(0, 1, EventKind::Granted { op, token, until }),
            event(0, 1, EventKind::Watched { op, every }),
        ];
        for (from, to) in self.stops() {
            events.push(event(from, 1, EventKind::Stopped));
            events.push(event(to, 1, EventKind::Resumed));
        }
        let name = || "n".into();
        let removed = |at| event(at, 0, EventKind::Destroyed { name: name() });
        events.extend(self.removed.map(removed));
        events.extend(self.lost.map(|at| event(at, 1, EventKind::Lost { op })));
        events.extend(
            self.quit
                .map(|at| event(at, 1, EventKind::Releasing { op })),
        );
        events.push(event(ends, 9, EventKind::Killed));
        events
    }

    /// Whether there is a moment at which the report is overdue.
    fn is_late(&self, ends: u64) -> bool {
        let due = self
            .removed
            .map_or(self.until, |at| self.until.min(at + TTL));
        let is_over = |end: Option<u64>, now: u64| end.is_some_and(|end| end <= now);
        (due..ends).any(|now| {
            let stops = self.stops();
            let is_stopped = stops.iter().any(|(from, to)| *from <= now && now < *to);
            let resumed = stops
                .iter()
                .map(|(_, to)| *to)
                .filter(|to| *to <= now)
                .max();
            let awake_since = due.max(resumed.unwrap_or(0));
            let is_overdue = now > awake_since + LATE + EVERY - 1;
            let is_reported = is_over(self.lost, now) || is_over(self.quit, now);
            is_overdue && !is_stopped && !is_reported
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn contention_is_what_its_definition_says(
        attempts in attempts(),
        fault in fault(),
    ) {
        let target = if fault.of_servers { "servers" } else { "worker 1" };
        let phase = |phase| EventKind::Fault {
            id: 1,
            kind: "cut".into(),
            target: target.into(),
            phase,
        };
        let mut events = vec![
            event(fault.from, 0, phase(FaultPhase::Begun)),
            event(fault.to, 0, phase(FaultPhase::Ended)),
        ];
        for (client, attempt) in (1..).zip(&attempts) {
            events.extend(attempt_events(client, *attempt));
        }
        let verdict = contention(&history(events), &bounds());
        prop_assert_eq!(
            verdict.violations().len(),
            groups_refused(&attempts, fault),
            "{:#?}", verdict
        );
    }

    #[test]
    fn a_late_loss_is_what_its_definition_says(hold in watched()) {
        const ENDS: u64 = 2_000;
        let verdict = loss(&history(hold.events(ENDS)), &bounds());
        prop_assert_eq!(!verdict.violations().is_empty(), hold.is_late(ENDS), "{:#?}", verdict);
    }
}

//! The scene of a picture: a title, a span of time and lanes, by the kind of the violation.

use super::canvas::{Lane, Mark, Style};
use crate::checker::{Facts, Fault, Grant, NEVER, Span, Ungranted, Violation};

/// At most so many faults are drawn: those that begin last.
const FAULTS_MAX: usize = 12;

/// The part of its length that a span is drawn longer by, at each end.
const MARGIN_DIVISOR: u64 = 8;

/// The shortest span that is drawn, in nanoseconds.
const SPAN_MIN: u64 = 1_000_000;

/// The contents of a picture.
pub(super) struct Scene {
    pub(super) title: String,
    /// The time that is drawn; none where no time is known.
    pub(super) span: Option<Span>,
    pub(super) lanes: Vec<Lane>,
}

/// The scene of a violation.
pub(super) fn scene(violation: &Violation, facts: &Facts) -> Scene {
    let lanes = lanes(violation, facts);
    let span = span(&lanes, facts);
    let mut scene = Scene {
        title: title(violation),
        span,
        lanes,
    };
    if let Some(span) = scene.span {
        scene.lanes.extend(faults(facts, span));
        scene.lanes.extend(stops(facts, span, &scene.lanes));
    }
    scene
}

fn title(violation: &Violation) -> String {
    let clause = violation.check().clause().unwrap_or("The history");
    let name = violation.name().map(|name| format!("{name:?} "));
    let name = name.unwrap_or_default();
    let what = match violation {
        Violation::Overlap { first, second } => {
            let nanos = first.to().min(second.to()).saturating_sub(second.from);
            format!("was held twice for {} ms", nanos.div_ceil(1_000_000))
        }
        Violation::Tokens { .. } => "has tokens that do not grow".to_owned(),
        Violation::StaleAccess { .. } => "has a register that accepted a stale token".to_owned(),
        Violation::LostUpdate { .. } => "has a register that lost an update".to_owned(),
        Violation::Starved { free, .. } => {
            let millis = (free.to - free.from) / 1_000_000;
            format!("was free for {millis} ms, and a waiter was not granted")
        }
        Violation::FalselyContended { .. } => "was free, and refused as contended".to_owned(),
        Violation::Residue { .. } => "was free, and has an entry in the store".to_owned(),
        Violation::LateLoss { .. } => "was lost, and its holder learned of it late".to_owned(),
        Violation::Effect { .. } => "has an entry of an attempt that left nothing".to_owned(),
        _ => "makes no sense".to_owned(),
    };
    format!("{clause} is broken: {name}{what}")
}

fn lanes(violation: &Violation, facts: &Facts) -> Vec<Lane> {
    match violation {
        Violation::Overlap { first, second } | Violation::Tokens { first, second } => {
            vec![grant_lane(first), grant_lane(second)]
        }
        Violation::StaleAccess { access, .. } | Violation::LostUpdate { access, .. } => {
            let attempts = facts.names.get(&access.name);
            let grants = attempts.into_iter().flat_map(|attempts| &attempts.grants);
            let near = grants.filter(|grant| grant.token >= access.token);
            near.take(2).map(grant_lane).collect()
        }
        Violation::Starved { waiter, free } => {
            let waiting = Span {
                from: waiter.requested,
                to: waiter.ended,
            };
            vec![
                lane(
                    client(waiter.client),
                    vec![mark(waiting, Style::Waiting, "waits")],
                ),
                lane("the lock", vec![mark(*free, Style::Held, "free")]),
            ]
        }
        Violation::FalselyContended {
            refused, before, ..
        } => {
            let mut lanes: Vec<_> = before.iter().map(grant_lane).collect();
            lanes.push(ungranted_lane(refused));
            lanes
        }
        Violation::Residue { at, entry } => {
            let attempts = facts.names.get(&entry.name);
            let last = attempts.and_then(|attempts| attempts.grants.last());
            let mut lanes: Vec<_> = last.map(grant_lane).into_iter().collect();
            lanes.push(moment("the store", *at, &entry.what));
            lanes
        }
        Violation::LateLoss { grant, due } => {
            vec![grant_lane(grant), moment("the loss", *due, "is due")]
        }
        Violation::Effect { at, entry, attempt } => {
            vec![
                ungranted_lane(attempt),
                moment("the store", *at, &entry.what),
            ]
        }
        _ => Vec::new(),
    }
}

fn grant_lane(grant: &Grant) -> Lane {
    let requested = Span {
        from: grant.requested,
        to: grant.from,
    };
    let (held, token) = (
        Span {
            from: grant.from,
            to: grant.to(),
        },
        grant.token,
    );
    let mut marks = vec![
        mark(requested, Style::Waiting, "request"),
        mark(held, Style::Held, &format!("token {token}")),
    ];
    if grant.lost != NEVER {
        let lost = Span {
            from: grant.lost,
            to: grant.lost,
        };
        marks.push(mark(lost, Style::Moment, "lost"));
    }
    lane(client(grant.client), marks)
}

fn ungranted_lane(attempt: &Ungranted) -> Lane {
    let (client, ended) = (client(attempt.client), attempt.ended);
    let span = Span {
        from: attempt.requested,
        to: ended,
    };
    let mut lane = moment(&client, ended, &attempt.outcome.to_string());
    lane.marks.insert(0, mark(span, Style::Waiting, "request"));
    lane
}

fn moment(name: &str, at: u64, text: &str) -> Lane {
    let span = Span { from: at, to: at };
    lane(name, vec![mark(span, Style::Moment, text)])
}

fn lane(name: impl Into<String>, marks: Vec<Mark>) -> Lane {
    let name = name.into();
    Lane { name, marks }
}

fn mark(span: Span, style: Style, text: &str) -> Mark {
    let text = text.to_owned();
    Mark { span, style, text }
}

fn client(client: u32) -> String {
    format!("client {client}")
}

/// The time of all marks, and a little more.
fn span(lanes: &[Lane], facts: &Facts) -> Option<Span> {
    let marks = || lanes.iter().flat_map(|lane| &lane.marks);
    let from = marks().map(|mark| mark.span.from).min()?;
    let ends = marks().map(|mark| mark.span.to).filter(|to| *to != NEVER);
    let to = ends.max().unwrap_or(facts.ends).max(from + SPAN_MIN);
    let margin = (to - from) / MARGIN_DIVISOR;
    Some(Span {
        from: from.saturating_sub(margin),
        to: to.saturating_add(margin),
    })
}

fn faults(facts: &Facts, span: Span) -> Vec<Lane> {
    let during = facts.faults.iter().filter(|fault| fault.span.touches(span));
    let during: Vec<&Fault> = during.collect();
    let skipped = during.len().saturating_sub(FAULTS_MAX);
    let fault_lane = |fault: &&Fault| {
        let text = format!("{} {} to {}", fault.id, fault.kind, fault.target);
        lane("fault", vec![mark(fault.span, Style::Fault, &text)])
    };
    during.iter().skip(skipped).map(fault_lane).collect()
}

/// When the processes of the clients in these lanes were stopped.
fn stops(facts: &Facts, span: Span, lanes: &[Lane]) -> Vec<Lane> {
    let drawn = |id: &u32| lanes.iter().any(|lane| lane.name == client(*id));
    let stops = facts.stops.iter().filter(|(id, _)| drawn(id));
    let lanes = stops.map(|(id, stops)| {
        let during = stops.iter().filter(|stop| stop.touches(span));
        let text = format!("client {id} stopped");
        let marks = during
            .map(|stop| mark(*stop, Style::Fault, &text))
            .collect();
        lane("stopped", marks)
    });
    lanes.filter(|lane| !lane.marks.is_empty()).collect()
}

//! Reads the events of registers, processes, the machine and the store.

use super::grow::push;
use crate::{
    checker::{
        attempt::NEVER,
        facts::{Facts, Fault, Span},
    },
    history::{Access, Event, EventKind, FaultPhase, Name, RegisterKind},
};

/// Reads an event of a register, a process, the machine or the store. Returns whether it makes sense; `None` if it
/// is of an attempt.
pub(super) fn read(event: &Event, facts: &mut Facts) -> Option<bool> {
    let (at, client) = (event.at, event.client);
    match &event.kind {
        EventKind::Write {
            name,
            register: RegisterKind::Fenced,
            token,
            value,
            accepted,
        } => {
            let access = Access {
                name: name.clone(),
                token: *token,
                wrote: Some(*value),
                accepted: *accepted,
            };
            push(&mut facts.fenced, access);
        }
        EventKind::Write { name, value, .. } => push(&mut facts.control, (name.clone(), *value)),
        EventKind::Killed => drop(end_stop(facts, client, at)),
        EventKind::Stopped => {
            let stops = facts.stops.entry(client).or_default();
            stops.push(Span {
                from: at,
                to: NEVER,
            });
        }
        EventKind::Resumed => return Some(end_stop(facts, client, at)),
        EventKind::Lagged { by } => {
            let (from, to) = (at.saturating_sub(*by), at);
            let lags = facts.lags.entry(client).or_default();
            lags.push(Span { from, to });
        }
        EventKind::Fault {
            id,
            kind,
            target,
            phase,
        } => return Some(fault(facts, at, *id, (kind, target), *phase)),
        EventKind::Destroyed { name } => {
            facts.destroyed.entry(name.clone()).or_default().push(at);
        }
        EventKind::Listed { entries } => facts.listings.push((at, entries.clone())),
        _ => return None,
    }
    Some(true)
}

fn fault(
    facts: &mut Facts,
    at: u64,
    id: u32,
    (kind, target): (&Name, &Name),
    phase: FaultPhase,
) -> bool {
    match phase {
        FaultPhase::Begun => {
            let (kind, target) = (kind.clone(), target.clone());
            let span = Span {
                from: at,
                to: NEVER,
            };
            facts.faults.push(Fault {
                id,
                kind,
                target,
                span,
            });
            true
        }
        FaultPhase::Ended => {
            let mut begun = facts.faults.iter_mut().rev();
            let begun = begun.find(|fault| fault.id == id);
            end_span(begun.map(|fault| &mut fault.span), at)
        }
    }
}

/// A process that is stopped is no slow machine: its timers are late only from when it goes on.
pub(super) fn without_stops(facts: &mut Facts) {
    for (client, lags) in &mut facts.lags {
        let stops = facts.stops.get(client).map_or(&[][..], Vec::as_slice);
        for lag in lags.iter_mut() {
            let during = stops.iter().filter(|stop| stop.touches(*lag));
            let goes_on = during.map(|stop| stop.to).max().unwrap_or(lag.from);
            lag.from = lag.from.max(goes_on).min(lag.to);
        }
    }
}

fn end_stop(facts: &mut Facts, client: u32, at: u64) -> bool {
    let stops = facts.stops.get_mut(&client);
    end_span(stops.and_then(|stops| stops.last_mut()), at)
}

/// Ends a span that is open; whether there is one.
fn end_span(span: Option<&mut Span>, at: u64) -> bool {
    let open = span.filter(|span| span.to == NEVER);
    open.map(|span| span.to = at).is_some()
}

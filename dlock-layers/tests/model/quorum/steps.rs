//! The steps of clients and nodes.

use super::{
    rules::{Mutant, Rules},
    state::{At, Client, Entry, Place, State},
};
use crate::search::{Clause, Kind, Step, What};

type Steps<const N: usize, const C: usize> = Vec<Step<State<N, C>>>;

/// Adds what `client` can do.
pub(super) fn of_client<const N: usize, const C: usize>(
    rules: &Rules,
    from: &State<N, C>,
    client: usize,
    steps: &mut Steps<N, C>,
) {
    let at = from.clients[client].at;
    match at {
        At::Idle if from.acquires > 0 => {
            let mut next = *from;
            next.acquires -= 1;
            let requester = &mut next.clients[client];
            requester.at = At::Requesting;
            requester.floor = largest(from.granted[requester.name]);
            steps.push(step(client, "requests the lock", Kind::Work, next));
        }
        At::Idle => {}
        At::Requesting => {
            for node in 0..N {
                request(rules, from, client, node, steps);
            }
            choose(rules, from, client, steps);
        }
        At::Raising => {
            for node in 0..N {
                raise(rules, from, client, node, steps);
            }
            let raises = match rules.mutant {
                Some(Mutant::OneRaise | Mutant::NoMajority) => 1,
                _ => N / 2 + 1,
            };
            if from.clients[client].count(Place::Raised) >= raises {
                let token = from.clients[client].token;
                grant(rules, from, client, token, steps);
            }
        }
        At::Held => {
            let released = from.ended(client, Entry::Free);
            steps.push(step(client, "releases", Kind::Work, released));
        }
    }
    if matches!(at, At::Requesting | At::Raising) {
        let released = from.ended(client, Entry::Free);
        steps.push(step(client, "gives up", Kind::Fault, released));
    }
    if at != At::Idle && rules.crashes {
        let crashed = from.ended(client, Entry::Orphan);
        steps.push(step(client, "crashes", Kind::Fault, crashed));
    }
}

/// Adds what happens in the nodes.
pub(super) fn of_nodes<const N: usize, const C: usize>(
    rules: &Rules,
    from: &State<N, C>,
    steps: &mut Steps<N, C>,
) {
    for node in 0..N {
        for name in 0..rules.names {
            let mut next = *from;
            next.nodes[node].entries[name] = Entry::Free;
            match from.nodes[node].entries[name] {
                Entry::Orphan => steps.push(of_node("an orphan expires", Kind::Work, next)),
                Entry::Of(_) if from.forgets > 0 => {
                    next.forgets -= 1;
                    if rules.is(Mutant::CounterForgotten) {
                        next.nodes[node].counter = 0;
                    }
                    steps.push(of_node("a node forgets an entry", Kind::Fault, next));
                }
                Entry::Of(_) | Entry::Free => {}
            }
        }
    }
}

fn request<const N: usize, const C: usize>(
    rules: &Rules,
    from: &State<N, C>,
    client: usize,
    node: usize,
    steps: &mut Steps<N, C>,
) {
    let requester = &from.clients[client];
    if requester.places[node].0 != Place::Open {
        return;
    }
    let mut without = *from;
    without.clients[client].places[node].0 = Place::Without;
    if from.nodes[node].entries[requester.name] != Entry::Free {
        steps.push(step(client, "is refused by a node", Kind::Work, without));
        return;
    }
    steps.push(step(
        client,
        "has no answer of a node",
        Kind::Fault,
        without,
    ));
    let mut next = *from;
    next.nodes[node].counter += 1;
    let token = next.nodes[node].counter;
    next.clients[client].places[node] = (Place::Held, token);
    next.nodes[node].entries[requester.name] = Entry::Of(u8::try_from(client).unwrap_or_default());
    steps.push(step(client, "is granted a node's lock", Kind::Work, next));
    if rules.lost_replies {
        next.clients[client].places[node] = (Place::Without, 0);
        next.nodes[node].entries[requester.name] = Entry::Orphan;
        steps.push(step(
            client,
            "is granted a node's lock, reply lost",
            Kind::Fault,
            next,
        ));
    }
}

/// Enough nodes hold the lock: the token is chosen.
fn choose<const N: usize, const C: usize>(
    rules: &Rules,
    from: &State<N, C>,
    client: usize,
    steps: &mut Steps<N, C>,
) {
    let requester = &from.clients[client];
    let need = if rules.is(Mutant::NoMajority) {
        1
    } else {
        rules.need
    };
    if requester.count(Place::Held) < need {
        return;
    }
    let held = requester
        .places
        .iter()
        .filter(|(place, _)| *place == Place::Held);
    let tokens = held.map(|(_, token)| *token);
    let token = match rules.is(Mutant::SmallestToken) {
        true => tokens.min(),
        false => tokens.max(),
    };
    let token = token.unwrap_or_default();
    if rules.is(Mutant::NoRaise) {
        grant(rules, from, client, token, steps);
        return;
    }
    let mut next = *from;
    next.clients[client].at = At::Raising;
    next.clients[client].token = token;
    for place in &mut next.clients[client].places {
        // A node that gave this token has it already.
        if *place == (Place::Held, token) {
            place.0 = Place::Raised;
        }
    }
    steps.push(step(client, "raises", Kind::Work, next));
}

fn raise<const N: usize, const C: usize>(
    rules: &Rules,
    from: &State<N, C>,
    client: usize,
    node: usize,
    steps: &mut Steps<N, C>,
) {
    let raising = &from.clients[client];
    if raising.places[node].0 != Place::Held {
        return;
    }
    let mut next = *from;
    if from.is_of(node, client) || rules.is(Mutant::BlindRaise) {
        let counter = &mut next.nodes[node].counter;
        *counter = raising.token.max(*counter);
        next.clients[client].places[node].0 = Place::Raised;
        steps.push(step(client, "raises a node", Kind::Work, next));
        if rules.lost_replies {
            next.clients[client].places[node].0 = Place::NotRaised;
            steps.push(step(client, "raises a node, reply lost", Kind::Fault, next));
        }
    } else {
        next.clients[client].places[node] = (Place::NotRaised, 0);
        steps.push(step(
            client,
            "learns that a node's lock is not its own",
            Kind::Work,
            next,
        ));
    }
}

fn grant<const N: usize, const C: usize>(
    rules: &Rules,
    from: &State<N, C>,
    client: usize,
    token: u8,
    steps: &mut Steps<N, C>,
) {
    let Client { name, floor, .. } = from.clients[client];
    let bit = 1 << token;
    let mut others = from.clients.iter();
    let is_late = token <= floor || from.granted[name] & bit != 0;
    let broken =
        if rules.forgets == 0 && others.any(|other| other.name == name && other.at == At::Held) {
            Some(Clause::Exclusion)
        } else {
            is_late.then_some(Clause::Tokens)
        };
    let mut next = *from;
    next.granted[name] |= bit;
    next.clients[client].at = At::Held;
    next.clients[client].token = token;
    let kind = Kind::Granted(u8::try_from(name).unwrap_or_default());
    let what = What {
        who: Some(client),
        does: "is granted the lock",
        kind,
    };
    steps.push(Step {
        what,
        to: next,
        broken,
    });
}

fn largest(granted: u64) -> u8 {
    u8::try_from(granted.checked_ilog2().unwrap_or_default()).unwrap_or_default()
}

fn step<const N: usize, const C: usize>(
    client: usize,
    does: &'static str,
    kind: Kind,
    to: State<N, C>,
) -> Step<State<N, C>> {
    let what = What {
        who: Some(client),
        does,
        kind,
    };
    Step {
        what,
        to,
        broken: None,
    }
}

fn of_node<const N: usize, const C: usize>(
    does: &'static str,
    kind: Kind,
    to: State<N, C>,
) -> Step<State<N, C>> {
    let what = What {
        who: None,
        does,
        kind,
    };
    Step {
        what,
        to,
        broken: None,
    }
}

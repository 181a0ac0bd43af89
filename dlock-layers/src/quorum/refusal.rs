//! The error of a round that too few nodes have granted.

use dlock_core::{Effect, Error, ErrorKind};

use super::{node::Slot, nodes::Nodes, round::Refusal};

/// The error if `held` nodes hold the lock, which are too few, and the others have refused.
///
/// `Contended` if so many nodes have answered that another holder may have the lock. Otherwise why the nodes did not
/// answer: an error that no wait ends if too few nodes are without one.
pub(super) fn refusal(nodes: &Nodes, held: usize, refusals: &[Refusal]) -> Error {
    let (all, need) = (nodes.slots.len(), nodes.options.need);
    let errors = || refusals.iter().map(|refusal| &refusal.error);
    let answered = held + errors().filter(|error| error.is_contended()).count();
    let effect = match errors().any(|error| error.effect() == Effect::Unknown) {
        true => Effect::Unknown,
        false => Effect::None,
    };
    if answered >= need {
        let contended = errors().find(|error| error.is_contended());
        let error = contended.map_or_else(Error::contended, Error::duplicate);
        return error.with_effect(effect);
    }
    let is_final = |error: &&Error| !error.is_retryable() && error.kind() != ErrorKind::Cancelled;
    if all - errors().filter(is_final).count() < need
        && let Some(error) = errors().find(is_final)
    {
        return error.duplicate().with_effect(effect);
    }
    let is_cause = |refusal: &&Refusal| !refusal.error.is_contended();
    let cause = refusals.iter().find(is_cause).and_then(|refusal| {
        let slot = nodes
            .slots
            .iter()
            .find(|slot| slot.number == refusal.number)?;
        Some((&**slot, &refusal.error))
    });
    too_few(nodes, answered, cause).with_effect(effect)
}

/// The error if only `answered` nodes have answered, and the others have not: one of them because of `cause`.
pub(super) fn too_few(nodes: &Nodes, answered: usize, cause: Option<(&Slot, &Error)>) -> Error {
    let (all, need) = (nodes.slots.len(), nodes.options.need);
    let why = format!("{answered} of {all} nodes answered, {need} are needed");
    let error = Error::new(ErrorKind::Unavailable, why);
    match cause {
        Some((slot, cause)) => error.with_source(format!("{}: {cause}", slot.label)),
        None => error,
    }
}

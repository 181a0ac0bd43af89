//! Everything that one server shows by itself.

use super::{
    checks, facts::Facts, given::Given, identity, info::Info, load, memory, persistence,
    replication,
};
use crate::{
    driver::redis::Topology,
    probe::{finding::Check, report::Report},
};

/// The checks of what `INFO` has.
const OF_INFO: [&Check; 12] = [
    &checks::EVICTION,
    &checks::EVICTED,
    &checks::RESTART,
    &checks::EMPTY_PRIMARY,
    &checks::CUT_OFF,
    &checks::UNGUARDED,
    &checks::MEMORY,
    &checks::SNAPSHOT,
    &checks::PRODUCT,
    &checks::ROLE,
    &checks::TWO_SERVERS,
    &checks::CLIENTS,
];

/// Judges what a server reports; its `INFO`, if it may be read.
pub(super) fn judge<'a>(
    facts: &'a Facts,
    topology: Topology,
    given: &Given,
    report: &mut Report,
) -> Option<&'a Info> {
    let info = match &facts.info {
        Ok(info) => info,
        Err(refusal) => {
            for check in OF_INFO {
                refusal.note(check, report);
            }
            return None;
        }
    };
    identity::judge(facts, info, topology, report);
    memory::judge(facts, info, given, report);
    persistence::judge(facts, info, given, report);
    replication::judge(facts, info, given, report);
    load::judge(facts, info, given, report);
    Some(info)
}

//! The check of a fenced register (C3).

use std::collections::HashMap;

use super::{facts::Facts, verdict::Verdict, violation::Violation};
use crate::history::Name;

/// The accesses that a fenced register must not have accepted, and the updates that it lost.
///
/// Every client writes what it read plus one. So each accepted write is one more than the one before
/// it, and the last value is the number of accepted writes.
#[must_use]
pub fn register(facts: &Facts) -> Verdict {
    let mut cells: HashMap<&Name, (u64, u64)> = HashMap::new();
    let mut violations = Vec::new();
    for access in facts.fenced.iter().filter(|access| access.accepted) {
        let (token_max, value) = cells.entry(&access.name).or_default();
        if access.token < *token_max {
            let token_max = *token_max;
            violations.push(Violation::StaleAccess {
                access: access.clone(),
                token_max,
            });
        }
        *token_max = access.token.max(*token_max);
        let Some(wrote) = access.wrote else { continue };
        if wrote != *value + 1 {
            let value = *value;
            violations.push(Violation::LostUpdate {
                access: access.clone(),
                value,
            });
        }
        *value = wrote;
    }
    Verdict::of(facts.fenced.len(), violations)
}

//! `--accept ID`: findings and unknown clauses that the user lives with.

use std::collections::BTreeSet;

use dlock_raw::probe::Check;
use dlock_verify::verdict::{Clause, Document, StoreVerdict};

use crate::base::exit::Failure;

/// Marks what the user accepts in the verdicts of all stores.
pub(crate) fn apply(document: &mut Document, accepted: &[String]) {
    let accepted: Vec<_> = accepted.iter().map(String::as_str).collect();
    for store in &mut document.stores {
        also(store, &accepted);
    }
}

/// Marks these ids in a verdict, beside those that are marked already.
pub(crate) fn also(store: &mut StoreVerdict, accepted: &[&str]) {
    for clause in &mut store.clauses {
        clause.accepted |= accepted.contains(&clause.id.id());
    }
    for finding in &mut store.findings {
        finding.accepted |= accepted.contains(&finding.id.as_str());
    }
}

/// Refuses ids that are neither a clause nor one of `checks`.
pub(crate) fn check(accepted: &[String], checks: &[Check]) -> Result<(), Failure> {
    let allowed: BTreeSet<&str> = checks.iter().map(|check| check.id).collect();
    for id in accepted {
        let is_clause = id.parse::<Clause>().is_ok();
        if !is_clause && !allowed.contains(id.as_str()) {
            // Those of the same store, if it is known.
            let store = id.split_once('.').map(|(store, _)| format!("{store}."));
            let of_store =
                |check: &&str| store.as_ref().is_some_and(|store| check.starts_with(store));
            let same: Vec<_> = allowed.iter().copied().filter(of_store).collect();
            let checks = match same.is_empty() {
                true => Vec::from_iter(allowed).join(", "),
                false => same.join(", "),
            };
            let why = format!("--accept {id:?} is not known (allowed: K1 to K13, {checks})");
            return Err(Failure::usage(why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_id_is_refused_with_the_allowed_ones() {
        let checks = dlock_raw::probe::checks();
        let known = checks.first().expect("a check").id;
        let accept = |id: &str| check(&[id.to_owned()], &checks);
        assert!(accept(known).is_ok());
        assert!(accept("K13").is_ok());
        let wrong = format!("{known}x");
        let refused = accept(&wrong).expect_err("unknown").message;
        let start = format!("--accept {wrong:?} is not known (allowed: K1 to K13, ");
        let listed = refused.strip_prefix(&start).expect("the allowed ones");
        assert!(listed.contains(known), "{refused}");
        // Those of other stores are left out.
        let store = known.split('.').next().expect("a store");
        let others = checks.iter().filter(|check| !check.id.starts_with(store));
        assert!(
            others.clone().all(|check| !listed.contains(check.id)),
            "{refused}"
        );
        let refused = accept("k14").expect_err("unknown").message;
        assert!(refused.contains(known), "{refused}");
    }
}

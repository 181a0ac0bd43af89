//! From cases and grants to the verdict of each clause.

use dlock_core::Fencing;
use dlock_verify::verdict::{
    CaseResult, Clause, ClauseVerdict, StoreVerdict, Verdict, rare_at_most,
};

use super::{
    contract::Tried,
    text::number::{counted, grouped},
};

/// How many lines of a failure are kept.
const WITNESS_LINES_MAX: usize = 30;

/// The verdict of each clause.
pub(crate) fn verdicts(tried: &[Tried], fencing: Fencing) -> Vec<ClauseVerdict> {
    let verdict = |tried| match verdict(tried) {
        mut unordered if unordered.id == Clause::K5 && fencing == Fencing::None => {
            unordered.rare_at_most = None;
            if unordered.verdict == Verdict::Holds {
                let cases = counted(unordered.cases.len() as u64, "case");
                unordered.evidence = format!("the tokens differ and have no order; {cases}");
            }
            unordered
        }
        verdict => verdict,
    };
    tried.iter().map(verdict).collect()
}

/// The verdict of each clause of a store that no lock was tried on.
pub(crate) fn untried(store: &mut StoreVerdict, why: &str) {
    let untried = |clause| ClauseVerdict::unknown(clause, format!("not tried: {why}"));
    store.clauses = Clause::ALL.map(untried).to_vec();
}

fn verdict(tried: &Tried) -> ClauseVerdict {
    let count = |wanted| {
        let found = tried.cases.iter().filter(|case| case.verdict == wanted);
        found.count()
    };
    let passed = count(Verdict::Holds);
    let mut verdict = ClauseVerdict::unknown(tried.clause, "");
    verdict.verdict = match (count(Verdict::Fails), count(Verdict::Unknown), passed) {
        (1.., ..) => Verdict::Fails,
        (0, 1.., _) => Verdict::Unknown,
        (0, 0, 1..) => Verdict::Holds,
        (0, 0, 0) => Verdict::NotTried,
    };
    verdict.cases.clone_from(&tried.cases);
    verdict.grants = tried.meter.grants() + tried.others;
    if verdict.verdict == Verdict::Holds {
        verdict.rare_at_most = rare_at_most(verdict.grants);
    }
    verdict.evidence = evidence(&verdict, passed);
    verdict.witness = witness(&tried.cases);
    verdict
}

fn evidence(verdict: &ClauseVerdict, passed: usize) -> String {
    let all = verdict.cases.len();
    let cases = match passed {
        0 => format!("none of {all} cases has an answer"),
        1 if all == 1 => "1 case".to_owned(),
        _ if passed == all => format!("{all} cases"),
        _ => format!("{passed} of {all} cases"),
    };
    let grants = counted(verdict.grants, "grant");
    match (verdict.id, verdict.verdict, verdict.rare_at_most) {
        (Clause::K1, Verdict::Holds, Some(rare)) => {
            let rare = grouped(rare);
            format!("0 of {grants} held twice (fewer than 1 in {rare}, 95 %)")
        }
        (Clause::K5, Verdict::Holds, Some(rare)) => {
            let (grants, rare) = (grouped(verdict.grants), grouped(rare));
            format!("0 of {grants} tokens out of order (fewer than 1 in {rare}, 95 %)")
        }
        (_, Verdict::NotTried, _) => "not tried: no time for it".to_owned(),
        (_, Verdict::Unknown, _) => format!("{cases}: {}", first_unknown(&verdict.cases)),
        _ => format!("{cases}, {grants}"),
    }
}

/// The first case without an answer, in a line.
fn first_unknown(cases: &[CaseResult]) -> String {
    let mut unknown = cases.iter().filter(|case| case.verdict == Verdict::Unknown);
    let first = unknown.next().map(|case| {
        let why = case.why.lines().next().unwrap_or_default();
        format!("{}: {why}", case.name)
    });
    first.unwrap_or_default()
}

fn witness(cases: &[CaseResult]) -> Vec<String> {
    let failed = cases.iter().filter(|case| case.verdict == Verdict::Fails);
    let lines = failed.flat_map(|case| {
        let why = case.why.lines().map(str::to_owned);
        std::iter::once(format!("{} fails:", case.name)).chain(why)
    });
    lines.take(WITNESS_LINES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn no_order_is_claimed_of_tokens_that_have_none() {
        let tried = [Tried {
            clause: Clause::K5,
            cases: vec![CaseResult::new("a_retried_attempt", Verdict::Holds, "")],
            meter: Arc::default(),
            others: 3,
        }];
        let [growing, unordered] =
            [Fencing::Growing, Fencing::None].map(|fencing| verdicts(&tried, fencing).remove(0));
        assert!(growing.evidence.starts_with("0 of 3 tokens out of order"));
        assert_eq!(unordered.verdict, Verdict::Holds);
        assert_eq!(
            unordered.evidence,
            "the tokens differ and have no order; 1 case"
        );
        assert_eq!(unordered.rare_at_most, None);
    }
}

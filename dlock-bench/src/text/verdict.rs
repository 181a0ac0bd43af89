//! The verdict about a store in lines: what fails, what mends it, and what is not known.

use dlock_verify::verdict::{ClauseVerdict, Finding, Severity, Verdict};

use crate::{
    data::{Run, Store},
    safety::{clauses, findings},
};

/// The clauses that fail, the dangers, the warnings, and what is not known; nothing for a store without a verdict.
pub(super) fn verdict(run: &Run, store: &Store) -> Vec<String> {
    let label = &store.label;
    let Some(verdict) = run.verdict(store) else {
        return Vec::new();
    };
    let failed = clauses(verdict, Verdict::Fails).map(|clause| fails(label, clause));
    let found = [
        (Severity::Danger, "✕"),
        (Severity::Warning, "▲"),
        (Severity::Unknown, "?"),
    ];
    let found = found.into_iter().flat_map(|(severity, sign)| {
        findings(verdict, severity).map(move |finding| finds(sign, label, finding))
    });
    let error = verdict.error.iter();
    let error = error.map(|error| format!("? {label}: not verified: {error}"));
    let open = clauses(verdict, Verdict::Unknown).filter(|clause| !clause.accepted);
    let open = open.map(|clause| is_open(label, clause));
    error.chain(failed).chain(found).chain(open).collect()
}

fn fails(label: &str, clause: &ClauseVerdict) -> String {
    let (id, title, evidence) = (clause.id, &clause.title, &clause.evidence);
    format!("✕ {label}: {id} {title} fails: {evidence}")
}

fn is_open(label: &str, clause: &ClauseVerdict) -> String {
    let (id, title, evidence) = (clause.id, &clause.title, &clause.evidence);
    format!("? {label}: {id} {title} is not known: {evidence}")
}

fn finds(sign: &str, label: &str, finding: &Finding) -> String {
    let (setting, found) = (&finding.setting, &finding.found);
    let advice = match finding.advice.as_str() {
        "" => String::new(),
        advice => format!(" → {advice}"),
    };
    format!("{sign} {label}: {setting} {found}{advice}")
}

#[cfg(test)]
mod tests {
    use dlock_verify::verdict::Document;

    use super::*;
    use crate::text::show;

    fn shown(run: &Run) -> String {
        show(run, usize::MAX)
    }

    #[test]
    fn the_table_has_the_safety_of_each_store() {
        let mut run = Run::parse(include_str!("../../tests/data/sample.json")).expect("the sample");
        assert!(!shown(&run).contains("safety"));
        let verdicts = include_str!("../../tests/report/verdicts.json");
        run.verdicts = Some(Document::from_json(verdicts).expect("the sample"));
        let text = shown(&run);
        for (label, word) in [
            ("file", "✓ all hold"),
            ("redis", "✕ 1 danger"),
            ("zk", "▲ 1 warning"),
            ("mysql", "? 2 unknown"),
        ] {
            let row = text
                .lines()
                .find(|line| line.starts_with(&format!(" {label}")));
            assert!(row.is_some_and(|row| row.contains(word)), "{label}: {text}");
        }
        let mends =
            "✕ redis: maxmemory-policy allkeys-lru → CONFIG SET maxmemory-policy noeviction";
        assert!(text.lines().any(|line| line == mends), "{text}");
        let open = text.lines().filter(|line| line.starts_with("? mysql: "));
        assert_eq!(open.count(), 2, "{text}");
    }

    #[test]
    fn what_is_not_known_counts_beside_a_warning() {
        let mut run = Run::parse(include_str!("../../tests/data/sample.json")).expect("the sample");
        let verdicts = include_str!("../../tests/report/verdicts.json");
        let mut verdicts = Document::from_json(verdicts).expect("the sample");
        verdicts.stores[3].clauses[0].verdict = Verdict::Unknown;
        run.verdicts = Some(verdicts);
        let text = shown(&run);
        assert!(text.contains("▲ 1 warning, ? 1 unknown"), "{text}");
    }

    #[test]
    fn a_clause_that_fails_has_its_evidence() {
        let mut run = Run::parse(include_str!("../../tests/data/sample.json")).expect("the sample");
        let verdicts = include_str!("../../tests/report/verdicts.json");
        let mut verdicts = Document::from_json(verdicts).expect("the sample");
        verdicts.stores[2].clauses[0].verdict = Verdict::Fails;
        verdicts.stores[2].clauses[0].evidence = "held twice".to_owned();
        run.verdicts = Some(verdicts);
        let text = shown(&run);
        assert!(
            text.contains("✕ etcd: K1 exclusion fails: held twice"),
            "{text}"
        );
        assert!(text.contains("✕ K1 fails"), "{text}");
    }
}

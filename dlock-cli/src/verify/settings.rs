//! The settings of the servers, as the verdict has them.

use dlock_raw::probe::{
    Assumption as Assumed, Finding as Probed, Report, Severity as Found, Unknown,
};
use dlock_verify::verdict::{Assumption, Clause, Finding, ServerSummary, Severity, StoreVerdict};

/// The finding about keys that were removed.
const EVICTED: &str = "redis.evicted";

/// Adds what a probe found.
pub(crate) fn add(store: &mut StoreVerdict, report: &Report) {
    let about = &report.about;
    let server = ServerSummary::new(&about.product, &about.version, &about.role);
    store.server = Some(server);
    let read = report.findings.iter().map(finding);
    store.findings = read.chain(report.unknown.iter().map(unknown)).collect();
    sort(store);
    let found = |id: &str| store.findings.iter().any(|finding| finding.id == id);
    let checked = report.checked.iter().map(ToString::to_string);
    store.not_here = checked.filter(|id| !found(id)).collect();
    store.assumptions = report.assumptions.iter().map(assumption).collect();
}

/// Replaces what was found about this machine and the clocks, by what a longer watch found.
pub(crate) fn watched(store: &mut StoreVerdict, report: &Report) {
    let again = |id: &str| {
        let checked = report.checked.contains(&id);
        checked || report.unknown.iter().any(|unread| unread.id == id)
    };
    store.findings.retain(|finding| !again(&finding.id));
    store.findings.extend(report.findings.iter().map(finding));
    store.findings.extend(report.unknown.iter().map(unknown));
    sort(store);
    let found = |id: &str| store.findings.iter().any(|finding| finding.id == id);
    let mut not_here = std::mem::take(&mut store.not_here);
    not_here.retain(|id| !found(id));
    store.not_here = not_here;
    for assumed in &report.assumptions {
        store.assumptions.retain(|known| known.name != assumed.what);
        store.assumptions.push(assumption(assumed));
    }
}

/// Adds what the servers have evicted between two probes.
pub(crate) fn evicted(store: &mut StoreVerdict, before: &Report, after: &Report) {
    let keys = |report: &Report| report.evictions.map_or(0, |evictions| evictions.keys);
    let newly = keys(after).saturating_sub(keys(before));
    if newly == 0 {
        return;
    }
    let evicted: Vec<_> = after
        .findings
        .iter()
        .filter(|found| found.id == EVICTED)
        .map(|found| {
            let mut finding = finding(found);
            finding.found = format!("{}; {newly} during this verification", finding.found);
            finding
        })
        .collect();
    store.not_here.retain(|id| id != EVICTED);
    store.findings.retain(|finding| finding.id != EVICTED);
    store.findings.extend(evicted);
    sort(store);
}

/// The gravest finding first.
fn sort(store: &mut StoreVerdict) {
    let findings = &mut store.findings;
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.id.cmp(&b.id)));
}

fn assumption(assumed: &Assumed) -> Assumption {
    let found = assumed.measured.as_deref().unwrap_or("not measured");
    Assumption::new(assumed.what, found, assumed.allowed)
}

fn finding(found: &Probed) -> Finding {
    let mut finding = Finding::new(found.id, severity(found.severity), found.setting);
    finding.found.clone_from(&found.found);
    finding.wanted.clone_from(&found.wanted);
    finding.clauses = clauses(found.clause);
    finding.exception = found.exception.map(str::to_owned);
    finding.consequence.clone_from(&found.effect);
    finding.advice.clone_from(&found.advice);
    finding
}

fn unknown(unread: &Unknown) -> Finding {
    let mut finding = Finding::new(unread.id, Severity::Unknown, unread.setting);
    finding.found.clone_from(&unread.why);
    finding.advice.clone_from(&unread.grant);
    finding
}

fn severity(found: Found) -> Severity {
    match found {
        Found::Covered => Severity::Covered,
        Found::Note => Severity::Note,
        Found::Warning => Severity::Warning,
        // A further one is as grave as it can be, until this program knows it.
        _ => Severity::Danger,
    }
}

/// The clauses in a text such as `K1, K5`.
fn clauses(text: &str) -> Vec<Clause> {
    let words = text.split([',', ' ']);
    words.filter_map(|word| word.parse().ok()).collect()
}

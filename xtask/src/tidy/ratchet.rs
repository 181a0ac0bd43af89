//! Counts that may only fall, in a file that a human can merge.

use std::{collections::BTreeMap, fs, path::Path};

use super::{finding::Finding, prose::Places};
use crate::failure::{Failure, Result};

/// Below the root of the project: a count and a rule on each line.
const FILE: &str = "xtask/ratchet.txt";

/// How often each rule is broken.
type Counts = BTreeMap<String, usize>;

/// The rules that are broken more often than recorded, or less often without being recorded so.
///
/// # Errors
///
/// When the file cannot be read.
pub(super) fn check(root: &Path, places: &Places) -> Result<Vec<Finding>> {
    Ok(judge(&read(root)?, &counts(places)))
}

/// Records each count that fell. A count that grew stays as it was.
///
/// # Errors
///
/// When the file cannot be read or written.
pub(super) fn record(root: &Path, places: &Places) -> Result<()> {
    let lowered = lowered(&read(root)?, &counts(places));
    let lines = lowered.iter().filter(|(_, count)| **count > 0);
    let text: String = lines
        .map(|(rule, count)| format!("{count:>5} {rule}\n"))
        .collect();
    let path = root.join(FILE);
    fs::write(&path, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

fn read(root: &Path) -> Result<Counts> {
    let path = root.join(FILE);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Counts {
    let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
    lines
        .filter_map(|(count, rule)| Some((rule.to_owned(), count.parse().ok()?)))
        .collect()
}

fn counts(places: &Places) -> Counts {
    places
        .iter()
        .map(|(rule, places)| (rule.clone(), places.len()))
        .collect()
}

fn judge(recorded: &Counts, counts: &Counts) -> Vec<Finding> {
    let all = recorded
        .keys()
        .chain(counts.keys().filter(|rule| !recorded.contains_key(*rule)));
    let findings = all.filter_map(|rule| {
        let of = |counts: &Counts| counts.get(rule).copied().unwrap_or(0);
        let (before, now) = (of(recorded), of(counts));
        let hint = if now > before {
            format!("{now} times, {before} at most; see: cargo xtask tidy --list '{rule}'")
        } else {
            format!("only {now} times, {before} recorded; record it: cargo xtask tidy --fix")
        };
        (now != before).then(|| Finding::of_file(FILE, format!("{rule}: {hint}")))
    });
    findings.collect()
}

fn lowered(recorded: &Counts, counts: &Counts) -> Counts {
    let lower = |(rule, before): (&String, &usize)| {
        (
            rule.clone(),
            counts.get(rule).copied().unwrap_or(0).min(*before),
        )
    };
    recorded.iter().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(recorded: &str, counts: &str) -> Vec<String> {
        let findings = judge(&parse(recorded), &parse(counts)).into_iter();
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn equal_counts_are_fine() {
        assert!(findings("  12 word a\n", "12 word a\n0 word b\n").is_empty());
    }

    #[test]
    fn more_is_refused_and_less_is_to_be_recorded() {
        let found = findings(
            "2 word a\n2 word b\n1 word c\n",
            "3 word a\n1 word b\n1 word d\n",
        );
        let [a, b, c, d] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(a.contains("word a: 3 times, 2 at most"), "{a}");
        assert!(b.contains("word b: only 1 times, 2 recorded"), "{b}");
        assert!(c.contains("word c: only 0 times"), "{c}");
        assert!(d.contains("word d: 1 times, 0 at most"), "{d}");
    }

    #[test]
    fn counts_are_never_raised() {
        let lowered = lowered(
            &parse("2 word a\n2 word b\n"),
            &parse("3 word a\n1 word b\n1 word d\n"),
        );
        assert_eq!(lowered, parse("2 word a\n1 word b\n"));
    }
}

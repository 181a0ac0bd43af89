//! Nothing refers to what the project does not have: files, tests, clauses and scenarios.

mod numbers;
mod paths;

use std::collections::BTreeSet;

use super::{finding::Finding, tree::TextFile};

const CONTRACT: &str = "docs/contract.md";
const FAULTS: &str = "docs/faults.md";

/// The pages whose tables name tests in their last column.
const OF_TESTS: [&str; 2] = [FAULTS, "docs/mixed-fleets.md"];

/// Names of tests have at least so many parts; settings have fewer.
const TEST_PARTS_MIN: usize = 4;

/// Every reference to what is not there.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let clauses = numbers::clauses(text_of(files, CONTRACT));
    let scenarios = numbers::scenarios(text_of(files, FAULTS));
    for file in files {
        for (letter, defined, place) in [('K', &clauses, CONTRACT), ('T', &scenarios, FAULTS)] {
            let referred = numbers::referred(&file.text, letter).into_iter();
            let unknown = referred.filter(|(_, number)| !defined.contains(number));
            findings.extend(unknown.map(|(line, number)| {
                Finding::of_line(
                    &file.path,
                    line,
                    format!("{letter}{number} is not in {place}"),
                )
            }));
        }
        if is_document(&file.path) {
            let named = paths::named(&file.text).into_iter();
            let missing = named.filter(|named| !paths::is_there(named, &file.path, &names));
            findings.extend(missing.map(|named| {
                Finding::of_line(
                    &file.path,
                    named.line,
                    format!("there is no file {}", named.name),
                )
            }));
        }
    }
    findings.extend(untested(files, &scenarios));
    findings.extend(OF_TESTS.iter().flat_map(|page| missing_tests(files, page)));
    findings
}

fn text_of<'a>(files: &'a [TextFile], path: &str) -> &'a str {
    let file = files.iter().find(|file| file.path == path);
    file.map_or("", |file| &file.text)
}

fn is_document(path: &str) -> bool {
    path.ends_with("README.md") || path == "CONTRIBUTING.md" || path.starts_with("docs/")
}

fn code(files: &[TextFile]) -> impl Iterator<Item = &str> {
    let code = files.iter().filter(|file| file.path.ends_with(".rs"));
    code.map(|file| file.text.as_str())
}

/// Scenarios without a test.
fn untested(files: &[TextFile], scenarios: &BTreeSet<u32>) -> Vec<Finding> {
    let tested: BTreeSet<u32> = code(files).flat_map(numbers::tested).collect();
    let untested = scenarios.difference(&tested);
    untested
        .map(|number| Finding::of_file(FAULTS, format!("T{number} has no test t{number:02}_…")))
        .collect()
}

/// Tests that the last column of a table names.
fn missing_tests(files: &[TextFile], page: &str) -> Vec<Finding> {
    let functions: BTreeSet<&str> = code(files).flat_map(functions).collect();
    let lines = (1..).zip(text_of(files, page).lines());
    let named = lines.flat_map(|(line, row)| {
        let cell = row
            .trim_end_matches([' ', '|'])
            .rsplit('|')
            .next()
            .unwrap_or_default();
        let quoted = cell
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| is_test(name));
        quoted.map(move |name| (line, name))
    });
    named
        .filter(|(_, name)| !functions.contains(name))
        .map(|(line, name)| Finding::of_line(page, line, format!("there is no test {name}")))
        .collect()
}

fn functions(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("fn ").skip(1);
    after.filter_map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
    })
}

fn is_test(name: &str) -> bool {
    name.split('_').count() >= TEST_PARTS_MIN
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_is_not_there_is_found() {
        let number = |letter: char, number: u32| format!("{letter}{number}");
        let fleets = "| client | `there_is_no_test_either` |\n";
        let faults =
            "| T1 | x |\n| T2 | y |\n| a | `there_is_a_test` |\n| b | `there_is_no_test` |\n";
        let code = format!(
            "fn t01_x() {{}} fn there_is_a_test() {{}} // K1, {}, {}",
            number('K', 77),
            number('T', 77)
        );
        let files = [
            file(CONTRACT, "**K1 exclusion.** In `a.rs` and `b.rs`."),
            file(FAULTS, faults),
            file(OF_TESTS[1], fleets),
            file("x/a.rs", &code),
        ];
        let found: Vec<_> = check(&files).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/contract.md:1: there is no file b.rs".to_owned(),
                format!("x/a.rs:1: {} is not in docs/contract.md", number('K', 77)),
                format!("x/a.rs:1: {} is not in docs/faults.md", number('T', 77)),
                "docs/faults.md: T2 has no test t02_…".to_owned(),
                "docs/faults.md:4: there is no test there_is_no_test".to_owned(),
                "docs/mixed-fleets.md:1: there is no test there_is_no_test_either".to_owned(),
            ]
        );
    }
}

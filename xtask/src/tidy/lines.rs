//! Rules of single lines, and of how many a file has.

use std::path::Path;

use super::finding::Finding;

/// A file that grows beyond this holds more than one idea.
const LINES_MAX: usize = 500;

/// Work that was put off. Split here, so that this file keeps its own rules.
const NOTES: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];
const STUBS: &[&str] = &[concat!("to", "do!("), concat!("unimple", "mented!(")];

/// Directories of the machine that something was written on.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/")];

const BARE_ALLOW: &[&str] = &[concat!("#[all", "ow("), concat!("#![all", "ow(")];

/// The imports with a star that are easier to read than a list.
const GLOBS: &[&str] = &["use super::*;", "use proptest::prelude::*;"];

/// Every place of the file that breaks a rule.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    broken(path, text)
        .into_iter()
        .map(|(line, rule)| Finding::of_line(path, line, rule))
        .collect()
}

/// The lines, from 1, with the rule that each breaks.
fn broken(path: &str, text: &str) -> Vec<(usize, &'static str)> {
    let is_rust = Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rs");
    let mut findings = Vec::new();
    for (line, words) in (1..).zip(text.lines()) {
        let in_rust = if is_rust { broken_in_rust(words) } else { None };
        let rules = broken_anywhere(words).into_iter().chain(in_rust);
        findings.extend(rules.map(|rule| (line, rule)));
    }
    if is_rust && text.lines().count() > LINES_MAX {
        let rule = "a file has at most 500 lines: split it by idea";
        let line = LINES_MAX + 1;
        findings.push((line, rule));
    }
    findings
}

fn broken_anywhere(line: &str) -> Option<&'static str> {
    if NOTES.iter().any(|note| has_word(line, note)) {
        return Some("no notes about work to be done: do it, or open an issue");
    }
    if MACHINE_PATHS.iter().any(|path| line.contains(path)) {
        return Some("no path of one machine");
    }
    None
}

/// Code only: an example in the documentation may leave out what it is not about.
fn broken_in_rust(line: &str) -> Option<&'static str> {
    let line = line.trim();
    if line.starts_with("//") {
        return None;
    }
    if STUBS.iter().any(|stub| line.contains(stub)) {
        return Some("no stubs");
    }
    if BARE_ALLOW.iter().any(|allow| line.contains(allow)) {
        return Some("#[expect(lint, reason = \"…\")] says why, and when it is no longer needed");
    }
    let import = line.starts_with("use ") || line.starts_with("pub use ");
    if import && line.contains("::*") && !GLOBS.contains(&line) {
        return Some("imports name what they bring");
    }
    None
}

/// Whether `word` occurs in `line` with no letter or digit beside it.
fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: [usize; 0] = [];

    fn broken(path: &str, text: &str) -> Vec<usize> {
        super::broken(path, text)
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn work_that_was_put_off_is_found_everywhere() {
        for note in NOTES {
            assert_eq!(broken("a.md", &format!("fine\n{note}: later")), [2]);
            assert_eq!(broken("a.md", &format!("a{note} {note}s {note}_")), CLEAN);
        }
        for stub in STUBS {
            assert_eq!(broken("a.rs", &format!("fn f() {{ {stub}) }}")), [1]);
            assert_eq!(
                broken("a.rs", &format!("/// # fn f() {{ {stub}) }}")),
                CLEAN
            );
        }
    }

    #[test]
    fn paths_of_a_machine_are_found_everywhere() {
        for path in MACHINE_PATHS {
            assert_eq!(broken("a.toml", &format!("dir = \"{path}x\"")), [1]);
        }
        assert_eq!(broken("a.toml", "dir = \"/var/lock/app\""), CLEAN);
    }

    #[test]
    fn an_allowed_lint_is_found_in_rust() {
        for allow in BARE_ALLOW {
            assert_eq!(broken("a.rs", &format!("    {allow}dead_code)]")), [1]);
        }
        assert_eq!(
            broken("a.rs", "#[expect(dead_code, reason = \"why\")]"),
            CLEAN
        );
    }

    #[test]
    fn imports_with_a_star_are_found_but_for_two() {
        assert_eq!(
            broken("a.rs", "use std::io::*;\npub use crate::lock::*;"),
            [1, 2]
        );
        assert_eq!(broken("a.rs", "use std::{fs, io::*};"), [1]);
        assert_eq!(
            broken("a.rs", "    use super::*;\nuse proptest::prelude::*;"),
            CLEAN
        );
        assert_eq!(broken("a.rs", "let product = a * b;"), CLEAN);
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(broken("a.rs", &"\n".repeat(LINES_MAX)), CLEAN);
        assert_eq!(broken("a.rs", &"\n".repeat(LINES_MAX + 1)), [LINES_MAX + 1]);
        assert_eq!(broken("a.md", &"\n".repeat(LINES_MAX + 1)), CLEAN);
    }
}

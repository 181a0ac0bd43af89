//! Rules of prose that can be counted. Each count may only fall: see [`super::ratchet`].

mod length;
mod openings;
mod words;

use std::collections::BTreeMap;

use self::words::OldWord;
use super::{copies, finding::Finding, tree::TextFile};

/// The file with the table of old words.
const GLOSSARY: &str = "docs/glossary.md";

/// Files that name what is not used any more, and why.
const EXEMPT: &[&str] = &[GLOSSARY, "CHANGELOG.md", "xtask/src/tidy/"];

/// Each rule, by its name in the ratchet, with the places that break it.
pub(super) type Places = BTreeMap<String, Vec<Finding>>;

/// Every place that breaks a rule of prose.
pub(super) fn check(files: &[TextFile]) -> Places {
    let mut places = Places::new();
    let glossary = files.iter().find(|file| file.path == GLOSSARY);
    let old = words::old_words(glossary.map_or("", |file| &file.text));
    for word in &old {
        places.insert(rule_of(word), Vec::new());
    }
    for file in files.iter().filter(|file| !copies::is_copy(&file.path)) {
        let mut add = |rule: &str, lines: Vec<usize>| {
            let found = lines.into_iter();
            let found = found.map(|line| Finding::of_line(&file.path, line, rule));
            places.entry(rule.to_owned()).or_default().extend(found);
        };
        if has_words(&file.path) {
            for (rule, lines) in old_words(file, &old) {
                add(&rule, lines);
            }
        }
        if file.path.ends_with(".rs") {
            add("opening of a doc comment", openings::broken(&file.text));
        }
        if is_page(&file.path) {
            add("long sentence", length::long_sentences(&file.text));
            add("long table cell", length::long_cells(&file.text));
        }
    }
    places
}

fn rule_of(word: &OldWord) -> String {
    format!("word {}", word.name())
}

fn has_words(path: &str) -> bool {
    let kinds = [".java", ".lua", ".md", ".rs", ".toml"];
    let is_exempt = EXEMPT.iter().any(|exempt| path.starts_with(exempt));
    kinds.iter().any(|kind| path.ends_with(kind)) && !is_exempt
}

/// Pages that are read from the beginning to the end; a changelog is a list.
fn is_page(path: &str) -> bool {
    path.ends_with(".md") && !path.ends_with("CHANGELOG.md")
}

/// Each old word with its lines; the path of the file is line 0.
fn old_words(file: &TextFile, old: &[OldWord]) -> Vec<(String, Vec<usize>)> {
    let lines = [file.path.as_str()].into_iter().chain(file.text.lines());
    let lines: Vec<_> = lines.map(words::split).collect();
    let of = |word: &OldWord| {
        let counts = lines.iter().map(|line| word.count(line)).enumerate();
        counts.flat_map(|(line, count)| vec![line; count]).collect()
    };
    old.iter().map(|word| (rule_of(word), of(word))).collect()
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
    fn old_words_are_counted_everywhere_but_where_they_are_listed() {
        let table = "## Words that are not used any more\n| `zorb` | lease | |\n";
        let files = [
            file(GLOSSARY, table),
            file("CHANGELOG.md", "zorb"),
            file("a/zorb.rs", "/// What a zorb is.\n"),
            file("a/x.bin", "zorb"),
            file("docs/a.md", &"word ".repeat(26)),
            file("CHANGELOG.md", &"word ".repeat(26)),
        ];
        let places = check(&files);
        assert_eq!(places["word zorb"].len(), 2);
        assert_eq!(places["opening of a doc comment"].len(), 1);
        assert_eq!(places["long sentence"].len(), 1);
    }
}

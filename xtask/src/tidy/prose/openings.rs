//! The first line of a doc comment is read alone, in lists: it names its subject.

/// Words that refer to a neighbour that the reader does not see, or to no subject at all.
const OPENINGS: &[&str] = &[
    "It", "Its", "They", "Their", "Those", "These", "Who", "What", "Whoever", "Whatever", "Nobody",
    "Somebody",
];

/// The lines, from 1, on which a doc comment begins with such a word.
pub(super) fn broken(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let words = doc_words(line);
        if !inside && words.is_some_and(opens_badly) {
            found.push(number);
        }
        inside = words.is_some();
    }
    found
}

/// The words of a doc comment on this line.
fn doc_words(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))
}

fn opens_badly(words: &str) -> bool {
    let first = words
        .trim_start()
        .split(|c: char| !c.is_alphanumeric())
        .next();
    first.is_some_and(|first| OPENINGS.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_counts() {
        let text = "//! Who waits.\n//! What for.\n\n/// The queue.\n/// It is short.\n    /// It's ours.\n// They\n";
        assert_eq!(broken(text), [1]);
        assert_eq!(
            broken("struct A;\n    /// It's ours.\nb: u8,\n/// Itself.\n/// Whole."),
            [2]
        );
    }
}

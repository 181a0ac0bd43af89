//! Words that are not used any more, as the table in `docs/glossary.md` lists them.

/// The heading above the table.
const HEADING: &str = "## Words that are not used any more";

/// A row of the table: a word in its forms, and the phrases in which it is still fine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OldWord {
    pub(super) forms: Vec<String>,
    phrases: Vec<Vec<String>>,
}

impl OldWord {
    /// The first form, by which the word is counted.
    pub(super) fn name(&self) -> &str {
        self.forms.first().map_or("", String::as_str)
    }

    /// How often it occurs among `words`, outside its phrases.
    pub(super) fn count(&self, words: &[String]) -> usize {
        let is_old = |at: &usize| self.forms.contains(&words[*at]) && !self.is_fine(words, *at);
        (0..words.len()).filter(is_old).count()
    }

    fn is_fine(&self, words: &[String], at: usize) -> bool {
        self.phrases.iter().any(|phrase| {
            let starts = (at + 1).saturating_sub(phrase.len())..=at;
            starts
                .into_iter()
                .any(|start| words[start..].starts_with(phrase))
        })
    }
}

/// The rows of the glossary's table: the old words and, in the last column, phrases that stay.
pub(super) fn old_words(glossary: &str) -> Vec<OldWord> {
    let lines = glossary.lines().skip_while(|line| *line != HEADING);
    let rows = lines.filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|');
        let forms = quoted(cells.next()?).map(str::to_owned).collect::<Vec<_>>();
        let phrases = quoted(cells.nth(1)?).map(split).collect();
        (!forms.is_empty()).then_some(OldWord { forms, phrases })
    });
    rows.collect()
}

/// The parts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The words of a line in lower case; names such as `in_flight` and `InFlight` have two.
///
/// A word in capitals alone is not ours: a command, a constant of a protocol.
pub(super) fn split(line: &str) -> Vec<String> {
    let names = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let own = names.filter(|name| name.contains('_') || name.chars().any(char::is_lowercase));
    own.flat_map(|name| name.split('_'))
        .flat_map(humps)
        .collect()
}

/// `InFlight` as `in`, `flight`.
fn humps(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for c in name.chars() {
        if c.is_uppercase() && before.is_some_and(char::is_lowercase) || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# Glossary\n\n| `lock` | kept |\n\n\
        ## Words that are not used any more\n\n| not | instead | still fine |\n|---|---|---|\n\
        | `zorb`, `zorbs` | lease | `in zorb`, `zorb of air` |\n| `frob` | request | |\n";

    fn count(line: &str) -> Vec<usize> {
        let words = split(line);
        old_words(GLOSSARY)
            .iter()
            .map(|old| old.count(&words))
            .collect()
    }

    #[test]
    fn the_table_names_words_and_phrases() {
        let names: Vec<_> = old_words(GLOSSARY)
            .iter()
            .map(|old| old.name().to_owned())
            .collect();
        assert_eq!(names, ["zorb", "frob"]);
    }

    #[test]
    fn old_words_are_found_in_prose_and_names() {
        assert_eq!(
            count("Two zorbs; fn frob_all(z: FrobZorb) // ZORB_MAX frobs"),
            [3, 2]
        );
        assert_eq!(count("prezorb, zorba, ZORB, frobs"), [0, 0]);
    }

    #[test]
    fn phrases_that_stay_are_not_counted() {
        assert_eq!(count("InZorb, in_zorb, a zorb of air, zorb"), [1, 0]);
    }
}

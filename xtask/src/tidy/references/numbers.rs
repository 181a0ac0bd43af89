//! Clauses (`K4`) and scenarios (`T1`) by number: what is referred to is defined.

use std::collections::BTreeSet;

/// The numbers that `text` refers to after `letter`, each with its line, from 1.
///
/// Names of tests refer to theirs, too: `fn t01_…`.
pub(super) fn referred(text: &str, letter: char) -> Vec<(usize, u32)> {
    let lines = (1..).zip(text.lines());
    let found = lines.flat_map(|(line, text)| {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let numbers =
            words.filter_map(move |word| number(word, letter).or_else(|| of_test(word, letter)));
        numbers.map(move |number| (line, number))
    });
    found.collect()
}

/// The scenarios of `docs/faults.md`: rows of which the first cell is a number.
pub(super) fn scenarios(faults: &str) -> BTreeSet<u32> {
    let rows = faults
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    rows.filter_map(|cell| number(cell, 'T')).collect()
}

/// The clauses of `docs/contract.md`: paragraphs that begin with a number in bold.
pub(super) fn clauses(contract: &str) -> BTreeSet<u32> {
    let heads = contract
        .lines()
        .filter_map(|line| line.strip_prefix("**")?.split(' ').next());
    heads.filter_map(|head| number(head, 'K')).collect()
}

/// The scenarios that have a test of their name.
pub(super) fn tested(text: &str) -> impl Iterator<Item = u32> {
    let names = text.split("fn ").skip(1);
    let names = names.filter_map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
    });
    names.filter_map(|name| of_test(name, 'T'))
}

/// `K4` is 4.
fn number(word: &str, letter: char) -> Option<u32> {
    let digits = word.strip_prefix(letter)?;
    let is_number = (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// `k04_words_of_the_test` is 4.
fn of_test(name: &str, letter: char) -> Option<u32> {
    let (head, _) = name.split_once('_')?;
    let digits = head.strip_prefix(letter.to_ascii_lowercase())?;
    let is_number = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_words_and_names_of_tests() {
        assert_eq!(
            referred("(K4, K12)\nK8s AK1 K1x K123 fn k07_drop()", 'K'),
            [(1, 4), (1, 12), (2, 7)]
        );
        assert_eq!(referred("T20–T23", 'T'), [(1, 20), (1, 23)]);
    }

    #[test]
    fn definitions_are_rows_and_bold_heads() {
        assert_eq!(
            scenarios("| T1 | x |\n| `T2` | y |\nT3\n"),
            BTreeSet::from([1])
        );
        assert_eq!(clauses("**K1 exclusion.** See K9.\n"), BTreeSet::from([1]));
        assert_eq!(
            tested("async fn t01_a() { t02_b() }").collect::<Vec<_>>(),
            [1]
        );
    }
}

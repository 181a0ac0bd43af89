//! Hints at words that were probably meant.

/// A hint at the word of `known` that `given` was probably meant to be; empty if there is none.
pub(super) fn suggest(given: &str, known: &[&str]) -> String {
    /// Two slips of the pen; more is another word.
    const DISTANCE_MAX: usize = 2;
    let distance = |word: &&str| strsim::damerau_levenshtein(given, word);
    match known.iter().min_by_key(|word| distance(word)) {
        Some(word) if distance(word) <= DISTANCE_MAX.min(word.len() / 2) => {
            format!(" (did you mean {word:?}?)")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn only_slips_of_the_pen_are_guessed() {
        let known = ["prefix", "token_base", "ttl", "wait"];
        for (given, meant) in [
            ("tll", "ttl"),
            ("token-base", "token_base"),
            ("waite", "wait"),
        ] {
            assert_eq!(
                suggest(given, &known),
                format!(" (did you mean {meant:?}?)")
            );
        }
        for other in ["lease", "t", "", "timeout"] {
            assert_eq!(suggest(other, &known), "", "{other}");
        }
        assert_eq!(suggest("ttl", &[]), "");
    }
}

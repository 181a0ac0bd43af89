//! Hints at words that were probably meant.

/// The schemes of servers by their usual port.
const PORTS: [(u16, &str); 5] = [
    (2181, "zk"),
    (2379, "etcd"),
    (3306, "mysql"),
    (6379, "redis"),
    (26379, "redis-sentinel"),
];

/// Other names of schemes.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("zookeeper", "zk"),
    ("zookeepers", "zks"),
    ("valkey", "redis"),
    ("valkeys", "rediss"),
    ("sentinel", "redis-sentinel"),
];

/// A hint at the scheme of `known` that a URL was probably meant to have, which has `scheme` and `path` instead;
/// empty if there is none.
pub(super) fn suggest_scheme(scheme: &str, path: &str, known: &[&str]) -> String {
    // `db-1:6379` has the form of a scheme and a path.
    if let Some(meant) = scheme_of_port(path).filter(|meant| known.contains(meant)) {
        return format!(" (did you mean \"{meant}://{scheme}:{path}\"?)");
    }
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == scheme);
    match other.filter(|(_, meant)| known.contains(meant)) {
        Some((_, meant)) => format!(" (did you mean {meant:?}?)"),
        None => suggest(scheme, known),
    }
}

/// The scheme of the servers whose usual port is the text `port`.
pub(super) fn scheme_of_port(port: &str) -> Option<&'static str> {
    let port: u16 = port.parse().ok()?;
    let entry = PORTS.iter().find(|(usual, _)| *usual == port);
    entry.map(|(_, scheme)| *scheme)
}

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
    use super::{suggest, suggest_scheme};

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

    #[test]
    fn a_host_without_a_scheme_and_other_names_are_guessed() {
        let known = ["file", "redis", "zk"];
        for (scheme, path, hint) in [
            (
                "localhost",
                "6379",
                " (did you mean \"redis://localhost:6379\"?)",
            ),
            ("zoo-1", "2181", " (did you mean \"zk://zoo-1:2181\"?)"),
            ("zookeeper", "", " (did you mean \"zk\"?)"),
            ("reddis", "", " (did you mean \"redis\"?)"),
            // A number that may be a password is not quoted.
            ("app", "12345", ""),
            // The program was built without it.
            ("db-1", "3306", ""),
        ] {
            assert_eq!(suggest_scheme(scheme, path, &known), hint, "{scheme}");
        }
    }
}

//! Numbers of servers in words.

use std::fmt;

/// `1 replica`, `2 replicas`.
pub(super) fn count<N: fmt::Display + PartialEq + From<u8>>(number: N, word: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {word}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(count(0_u64, "replica"), "0 replicas");
        assert_eq!(count(1_u64, "replica"), "1 replica");
        assert_eq!(count(2_usize, "master"), "2 masters");
    }
}

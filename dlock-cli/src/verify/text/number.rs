//! Numbers for people.

/// The digits in groups of three: `12 345`. Four digits have no space.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 grant`, `12 345 grants`.
pub(crate) fn counted(number: u64, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {word}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(3_104), "3104");
        assert_eq!(grouped(13_104), "13 104");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(counted(1, "grant"), "1 grant");
        assert_eq!(counted(12_345, "grant"), "12 345 grants");
    }
}

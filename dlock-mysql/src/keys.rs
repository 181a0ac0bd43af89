//! Lock name → key of its row.
//!
//! Names are bytes in a binary column, so case, trailing spaces and accents count. Statements contain them
//! as hexadecimal literals: no part of a name is ever SQL.

use dlock_core::LockName;

/// The key of the row of `name`.
pub(crate) fn row(prefix: &str, name: &LockName) -> Vec<u8> {
    [prefix.as_bytes(), name.as_str().as_bytes()].concat()
}

/// `bytes` as an SQL literal.
pub(crate) fn literal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let mut literal = String::with_capacity(bytes.len() * 2 + 3);
    literal.push_str("x'");
    for byte in bytes {
        literal.push(DIGITS[usize::from(byte >> 4)]);
        literal.push(DIGITS[usize::from(byte & 15)]);
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_sql() {
        let name = LockName::new("a' OR 1=1 -- \\").expect("a name");
        let row = literal(&row("p%", &name));
        let inner = row
            .strip_prefix("x'")
            .and_then(|row| row.strip_suffix('\''));
        let inner = inner.expect("a literal");
        assert!(
            inner.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{inner}"
        );
        assert_eq!(inner.len(), 2 * ("p%".len() + name.as_str().len()));
    }
}

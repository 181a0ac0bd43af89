//! Name ↔ row, and the tables.
//!
//! Names are bytes in a binary column, so case, trailing spaces and accents count (T72). They go into
//! statements as hexadecimal literals: nothing in a name is ever SQL.

use dlock_core::{LockName, backend::LayoutVersion};

/// The version of all that is below. It is raised with each change after which older programs would not
/// understand the tables; a further column with a default, or a further row, is none.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(1).per("database");

/// What the tables had before they told their version.
pub(crate) const LAYOUT_UNTOLD: &str = "0";

/// One row for each name; what is locked. It never changes, so old rows can be deleted at any time.
pub(crate) const LOCKS: &str = "dlock_locks";

/// Locks the row of a name if it is free, and says the server's next number.
pub(crate) const LOCK: &str =
    "SELECT UUID_SHORT() FROM dlock_locks WHERE name = ? FOR UPDATE NOWAIT";

/// Row 1: which start of which server counts tokens at present, and from where; which one will count
/// when its guard is over; and the longest ttl in use. Row 2: the counter of `token=committed`.
pub(crate) const EPOCH: &str = "dlock_epoch";

/// Questions of who holds a name, and their answers; empty but while somebody asks.
pub(crate) const ASKED: &str = "dlock_asked";

/// What makes the tables, in order; each can be repeated.
pub(crate) const CREATE: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS dlock_locks (\n  name VARBINARY(383) NOT NULL PRIMARY KEY\n) \
     ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS dlock_epoch (\n  id TINYINT NOT NULL PRIMARY KEY,\n  epoch BIGINT \
     UNSIGNED NOT NULL,\n  boot BIGINT UNSIGNED NOT NULL,\n  base BIGINT UNSIGNED NOT NULL,\n  \
     next_boot BIGINT UNSIGNED NOT NULL DEFAULT 0,\n  guarded_since BIGINT UNSIGNED NOT NULL DEFAULT 0,\n  \
     ttl_max INT UNSIGNED NOT NULL DEFAULT 0,\n  ttl_max_before INT UNSIGNED NOT NULL DEFAULT 0,\n  \
     period BIGINT UNSIGNED NOT NULL DEFAULT 0,\n  layout INT UNSIGNED NOT NULL\n) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS dlock_asked (\n  id BIGINT UNSIGNED NOT NULL PRIMARY KEY,\n  \
     name VARBINARY(383) NOT NULL,\n  since TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,\n  holder \
     VARBINARY(1024) NOT NULL DEFAULT ''\n) ENGINE=InnoDB",
    "INSERT IGNORE INTO dlock_epoch (id, epoch, boot, base, layout) VALUES (1, 0, 0, 0, 1), (2, 0, 0, \
     0, 1)",
];

/// The row of `name`.
pub(crate) fn row(prefix: &str, name: &LockName) -> Vec<u8> {
    [prefix.as_bytes(), name.as_str().as_bytes()].concat()
}

/// `bytes` as a literal.
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

//! The declared exceptions: which fault may break which clause of which store.

use serde::Deserialize;

use super::verdict::Exception;
use crate::support::Outcome;

/// The only table: chaos and `dlock verify` excuse by it, and nothing else.
const TABLE: &str = include_str!("../../exceptions.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    exception: Vec<Exception>,
}

impl Exception {
    /// All declared exceptions.
    ///
    /// # Errors
    ///
    /// When the table is malformed, which a test rules out.
    pub fn all() -> Outcome<Vec<Self>> {
        let all: Table = toml::from_str(TABLE)?;
        Ok(all.exception)
    }

    /// The declared exceptions of `store`.
    ///
    /// # Errors
    ///
    /// As [`all`](Self::all).
    pub fn of(store: &str) -> Outcome<Vec<Self>> {
        let mut exceptions = Self::all()?;
        exceptions.retain(|exception| exception.store == store);
        Ok(exceptions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed_and_has_no_row_twice() {
        let mut all = Exception::all().expect("the table");
        assert!(!all.is_empty());
        let key = |one: &Exception| (one.store.clone(), one.row());
        all.sort_by_key(key);
        for pair in all.windows(2) {
            assert_ne!(key(&pair[0]), key(&pair[1]), "a row twice");
        }
        let of_mysql = Exception::of("mysql").expect("the table");
        assert!(of_mysql.iter().all(|row| row.store == "mysql"));
        assert!(of_mysql.iter().any(|row| row.fault == "net-cut"));
    }
}

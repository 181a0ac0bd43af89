//! Whether a server may grant locks.

use dlock_core::{Clock, Error, ErrorKind, Result};

use crate::{
    config::MySqlConfig,
    conn::connection::Connection,
    sql::{row::Row, server::Product},
};

/// The oldest versions that have `NOWAIT` and `SKIP LOCKED`.
const MYSQL_MIN: (u32, u32) = (8, 0);
const MARIADB_MIN: (u32, u32) = (10, 6);

/// The variables of the server that decide.
#[derive(Clone, Debug, Default)]
struct Variables {
    version: String,
    is_galera: bool,
    is_multi_primary: bool,
}

/// Checks the server, without its tables.
///
/// # Errors
///
/// `Unsupported` for an old version, Galera and several primaries.
pub(crate) async fn probe(
    connection: &mut Connection,
    clock: &Clock,
    config: &MySqlConfig,
) -> Result<Product> {
    let sql = "SHOW VARIABLES WHERE Variable_name IN ('version', 'wsrep_on', \
               'group_replication_single_primary_mode')";
    let rows = connection.query(clock, sql, config.timeouts.reply).await?;
    let found = Variables::read(&rows);
    let product = found.product()?;
    let unsupported = |why| Err(Error::new(ErrorKind::Unsupported, why));
    if found.is_galera {
        return unsupported(
            "Galera locks rows on one node only, so two nodes could grant one lock",
        );
    }
    if found.is_multi_primary {
        return unsupported(
            "group replication with several primaries locks rows on one of them only, so two could \
             grant one lock; use its single-primary mode",
        );
    }
    Ok(product)
}

impl Variables {
    fn read(rows: &[Row]) -> Self {
        let mut found = Self::default();
        for row in rows {
            let text = |column: usize| row.get(column).and_then(Option::as_deref);
            match (text(0), text(1)) {
                (Some("version"), Some(value)) => value.clone_into(&mut found.version),
                (Some("wsrep_on"), value) => found.is_galera = value == Some("ON"),
                (Some("group_replication_single_primary_mode"), value) => {
                    found.is_multi_primary = value == Some("OFF");
                }
                _ => {}
            }
        }
        found
    }

    /// `10.11.19-MariaDB-0+deb12u1`, `9.7.4-2`.
    fn product(&self) -> Result<Product> {
        let mut numbers = self.version.split(['.', '-']);
        let mut next = || numbers.next().and_then(|part| part.parse().ok());
        let version: (Option<u32>, Option<u32>) = (next(), next());
        let version = (version.0.unwrap_or(0), version.1.unwrap_or(0));
        let (product, min) = if self.version.contains("MariaDB") {
            (Product::MariaDb, MARIADB_MIN)
        } else {
            (Product::MySql, MYSQL_MIN)
        };
        if version < min {
            let (given, (major, minor)) = (&self.version, min);
            let why = format!("the server is {given}; needed is {product:?} {major}.{minor}");
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(version: &str) -> Result<Product> {
        let version = version.to_owned();
        Variables {
            version,
            ..Variables::default()
        }
        .product()
    }

    #[test]
    fn versions_are_recognized() {
        let found = |version| product(version).expect("one that will do");
        assert_eq!(found("10.11.19-MariaDB-0+deb12u1"), Product::MariaDb);
        assert_eq!(found("9.7.4-2"), Product::MySql);
        assert_eq!(found("8.0.36"), Product::MySql);
        for old in ["5.7.44-log", "10.5.9-MariaDB", ""] {
            assert!(product(old).is_err(), "{old}");
        }
    }

    #[test]
    fn servers_whose_row_locks_are_local_are_known() {
        let row = |name: &str, value: &str| vec![Some(name.to_owned()), Some(value.to_owned())];
        let galera = Variables::read(&[row("wsrep_on", "ON")]);
        assert!(galera.is_galera && !galera.is_multi_primary);
        let multi = Variables::read(&[row("group_replication_single_primary_mode", "OFF")]);
        assert!(multi.is_multi_primary && !multi.is_galera);
        let single = Variables::read(&[
            row("group_replication_single_primary_mode", "ON"),
            row("wsrep_on", "OFF"),
        ]);
        assert!(!single.is_galera && !single.is_multi_primary);
    }
}

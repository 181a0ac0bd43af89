//! The variables, the state and the rights that a server reports.

use std::collections::HashMap;

use dlock_core::Result;

use crate::driver::mysql::{Connection, Failure, Row};

/// The variables that are read.
const VARIABLES: &str = "'version', 'version_comment', 'read_only', 'innodb_flush_log_at_trx_commit', \
     'sync_binlog', 'log_bin', 'wsrep_on', 'group_replication_single_primary_mode', 'thread_handling', \
     'max_connections', 'max_prepared_stmt_count', 'hostname', 'port'";

/// The numbers of the present state that are read.
const STATUS: &str = "'Threads_connected', 'Prepared_stmt_count'";

/// The tables whose rows are locks.
const TABLES: &str = "'dlock_locks', 'dlock_epoch'";

/// Names and values.
pub(super) type Values = HashMap<String, String>;

/// The variables, the state and the rights of one server. A failure is one of a request that was refused.
pub(super) struct Facts {
    pub(super) variables: Values,
    pub(super) status: Values,
    /// The tables of dlock that are there, with their engines.
    pub(super) engines: Values,
    /// The rights of the account, in capitals.
    pub(super) grants: Result<Vec<String>, Failure>,
    /// A replica's state towards the server that it follows; nothing if it follows none.
    pub(super) follows: Result<Option<Values>, Failure>,
    /// The number of replicas.
    pub(super) replicas: Result<usize, Failure>,
}

impl Facts {
    /// Reads them over one connection.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub(super) async fn read(connection: &mut Connection) -> Result<Self> {
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({VARIABLES})");
        let variables = values(&connection.query(sql).await?);
        let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({STATUS})");
        let status = values(&connection.query(sql).await?);
        let sql = format!(
            "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE() AND \
             table_name IN ({TABLES})"
        );
        let engines = values(&connection.query(sql).await?);
        let grants = connection.query("SHOW GRANTS").await;
        let follows = connection.query_fields("SHOW REPLICA STATUS").await;
        let is_mariadb = is_mariadb(&variables);
        let replicas = if is_mariadb {
            "SHOW REPLICA HOSTS"
        } else {
            "SHOW REPLICAS"
        };
        let replicas = connection.query(replicas).await;
        Ok(Self {
            variables,
            status,
            engines,
            grants: grants.map(|rows| {
                rows.iter()
                    .map(|row| column(row, 0).to_uppercase())
                    .collect()
            }),
            follows,
            replicas: replicas.map(|rows| rows.len()),
        })
    }

    pub(super) fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let value = self.variables.get(name).or_else(|| self.status.get(name));
        value?.parse().ok()
    }

    pub(super) fn is_mariadb(&self) -> bool {
        is_mariadb(&self.variables)
    }
}

fn is_mariadb(variables: &Values) -> bool {
    variables
        .get("version")
        .is_some_and(|version| version.contains("MariaDB"))
}

/// Rows of a name and a value.
fn values(rows: &[Row]) -> Values {
    let pair = |row: &Row| (column(row, 0).to_owned(), column(row, 1).to_owned());
    rows.iter().map(pair).collect()
}

/// The text of a column; empty if it is null.
pub(super) fn column(row: &Row, number: usize) -> &str {
    row.get(number)
        .and_then(Option::as_deref)
        .unwrap_or_default()
}

//! MySQL: `SELECT … FOR UPDATE` and `COMMIT` by the driver, over a connection for each task.

use dlock_core::{
    Result,
    backend::async_trait,
    config::{Config, Settings},
};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Row as _,
    mysql::{MySqlConnectOptions, MySqlConnection},
    raw_sql,
};
use tokio::sync::Mutex;

use super::{
    floor::{Cycle, Floor, NewName, OwnLock, Server, Usage},
    mysql_lock::{MySqlLock, failed},
};
use crate::driver::mysql as driver;

/// The settings of a session, as dlock-mysql has them.
const SESSION: &str =
    "SET SESSION autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// The server of the URL.
pub(crate) struct MySqlFloor {
    options: MySqlConnectOptions,
    /// The connection for the queries beside the cycles.
    probing: Mutex<MySqlConnection>,
    prefix: String,
    own_lock: MySqlLock,
}

impl MySqlFloor {
    pub(crate) async fn connect(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?.unwrap_or_default();
        let options = driver::Server::take(&mut settings)?.options;
        let probing = Mutex::new(options.connect().await.map_err(failed)?);
        Ok(Self {
            own_lock: MySqlLock {
                options: options.clone(),
            },
            options,
            probing,
            prefix,
        })
    }
}

#[async_trait]
impl Floor for MySqlFloor {
    fn what(&self) -> &'static str {
        "SELECT … FOR UPDATE and COMMIT by the driver alone, on a ready connection"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        Box::new(MySqlTask {
            options: self.options.clone(),
            connection: None,
            row: hex(&self.prefix, name),
        })
    }

    fn what_new(&self) -> &'static str {
        "INSERT of the row, which locks it, and COMMIT by the driver alone, on a ready connection"
    }

    fn new_names(&self) -> Box<dyn NewName> {
        Box::new(MySqlNewName {
            options: self.options.clone(),
            connection: None,
            prefix: self.prefix.clone(),
        })
    }

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
    }

    fn own_lock(&self) -> Option<&dyn OwnLock> {
        Some(&self.own_lock)
    }
}

struct MySqlTask {
    options: MySqlConnectOptions,
    /// Made by the first cycle, which is part of the warm-up.
    connection: Option<MySqlConnection>,
    /// The name, in hexadecimal digits.
    row: String,
}

impl MySqlTask {
    async fn open(&self) -> Result<MySqlConnection> {
        let mut connection = self.options.connect().await.map_err(failed)?;
        let row = &self.row;
        let insert = format!("INSERT IGNORE INTO dlock_locks VALUES (x'{row}')");
        run(&mut connection, insert).await?;
        run(&mut connection, SESSION.to_owned()).await?;
        Ok(connection)
    }
}

#[async_trait]
impl Cycle for MySqlTask {
    async fn cycle(&mut self) -> Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.open().await?,
        };
        let lock = format!(
            "SELECT 1 FROM dlock_locks WHERE name = x'{}' FOR UPDATE",
            self.row
        );
        run(&mut connection, lock).await?;
        run(&mut connection, "COMMIT".to_owned()).await?;
        self.connection = Some(connection);
        Ok(())
    }
}

struct MySqlNewName {
    options: MySqlConnectOptions,
    /// Made by the first cycle, which is part of the warm-up.
    connection: Option<MySqlConnection>,
    prefix: String,
}

#[async_trait]
impl NewName for MySqlNewName {
    async fn cycle(&mut self, name: &str) -> Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection = self.options.connect().await.map_err(failed)?;
                run(&mut connection, SESSION.to_owned()).await?;
                connection
            }
        };
        let row = hex(&self.prefix, name);
        let insert = format!("INSERT INTO dlock_locks VALUES (x'{row}')");
        run(&mut connection, insert).await?;
        run(&mut connection, "COMMIT".to_owned()).await?;
        self.connection = Some(connection);
        Ok(())
    }
}

#[async_trait]
impl Server for MySqlFloor {
    async fn round_trip(&self) -> Result<()> {
        run(&mut *self.probing.lock().await, "DO 1".to_owned()).await
    }

    async fn version(&self) -> Result<Option<String>> {
        let version = self.value("SELECT VERSION()", 0).await?;
        Ok(Some(name(&version)))
    }

    async fn usage(&self) -> Result<Usage> {
        let requests = self.value("SHOW GLOBAL STATUS LIKE 'Questions'", 1).await?;
        Ok(Usage {
            requests: requests.parse().ok(),
            bytes: None,
        })
    }
}

impl MySqlFloor {
    /// A column of the one row that `sql` returns.
    async fn value(&self, sql: &'static str, column: usize) -> Result<String> {
        let mut probing = self.probing.lock().await;
        let row = raw_sql(sql).fetch_one(&mut *probing).await;
        row.and_then(|row| row.try_get(column)).map_err(failed)
    }
}

/// `10.11.6-MariaDB-0+deb12u1` is MariaDB 10.11.6.
fn name(version: &str) -> String {
    let number = version.split('-').next().unwrap_or(version);
    let product = if version.contains("MariaDB") {
        "MariaDB"
    } else {
        "MySQL"
    };
    format!("{product} {number}")
}

/// The row of a lock, in hexadecimal digits.
fn hex(prefix: &str, name: &str) -> String {
    let bytes = prefix.bytes().chain(name.bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

async fn run(connection: &mut MySqlConnection, sql: String) -> Result<()> {
    let rows = raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await;
    rows.map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_named() {
        assert_eq!(name("10.11.6-MariaDB-0+deb12u1"), "MariaDB 10.11.6");
        assert_eq!(name("9.7.4"), "MySQL 9.7.4");
    }
}

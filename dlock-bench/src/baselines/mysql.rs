//! MySQL: `SELECT … FOR UPDATE` and `COMMIT` by the driver, over a connection for each task.

use std::time::Duration;

use dlock::config::BackendUrl;
use dlock_core::{Error, ErrorKind, Result, backend::async_trait};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _,
    mysql::{MySqlConnectOptions, MySqlConnection},
    raw_sql,
};
use tokio::sync::Mutex;

use super::floor::{Floor, Server};
use crate::workload::Cycle;

/// The server of the URL.
pub(crate) struct MySqlFloor {
    options: MySqlConnectOptions,
    /// The connection for the queries beside the cycles.
    probing: Mutex<MySqlConnection>,
}

impl MySqlFloor {
    pub(crate) async fn connect(url: &BackendUrl) -> Result<Self> {
        let options = MySqlConnectOptions::new()
            .username(url.user().unwrap_or_default())
            .database(url.path().trim_start_matches('/'))
            .statement_cache_capacity(0)
            .disable_statement_logging();
        let options = match url.password() {
            Some(password) => options.password(password.expose()),
            None => options,
        };
        let options = match (url.param("socket"), url.hosts().first()) {
            (Some(socket), _) => options.socket(socket),
            (None, Some(host)) => options.host(&host.name).port(host.port.unwrap_or(3306)),
            (None, None) => options,
        };
        // As dlock has it: by default both encrypt if the server can.
        let options = match url.param("tls").unwrap_or("preferred").parse() {
            Ok(mode) => options.ssl_mode(mode),
            Err(_) => options,
        };
        let probing = Mutex::new(options.connect().await.map_err(failed)?);
        Ok(Self { options, probing })
    }
}

impl Floor for MySqlFloor {
    fn what(&self) -> &'static str {
        "SELECT … FOR UPDATE and COMMIT by the driver alone, on a ready connection"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        let row: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
        Box::new(MySqlTask {
            options: self.options.clone(),
            connection: None,
            row,
        })
    }

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
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
        let setup = format!(
            "INSERT IGNORE INTO dlock_locks VALUES (x'{row}'); SET SESSION autocommit = 0; SET SESSION \
             TRANSACTION ISOLATION LEVEL READ COMMITTED"
        );
        run(&mut connection, setup).await?;
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

#[async_trait]
impl Server for MySqlFloor {
    async fn round_trip(&self) -> Result<()> {
        run(&mut *self.probing.lock().await, "DO 1".to_owned()).await
    }

    async fn cpu_time(&self) -> Result<Option<Duration>> {
        Ok(None)
    }
}

async fn run(connection: &mut MySqlConnection, sql: String) -> Result<()> {
    let rows = raw_sql(AssertSqlSafe(sql)).fetch_all(connection).await;
    rows.map(drop).map_err(failed)
}

fn failed(error: sqlx::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the driver of the floor failed").with_source(error)
}

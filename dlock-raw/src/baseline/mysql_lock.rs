//! MySQL's own lock: `GET_LOCK` and `RELEASE_LOCK`, over a connection for each task.

use dlock_core::{Error, ErrorKind, Result, backend::async_trait};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Row as _,
    mysql::{MySqlConnectOptions, MySqlConnection},
    raw_sql,
};

use super::floor::{Cycle, OwnLock};

/// The server of the URL.
pub(super) struct MySqlLock {
    pub(super) options: MySqlConnectOptions,
}

impl OwnLock for MySqlLock {
    fn what(&self) -> &'static str {
        "GET_LOCK and RELEASE_LOCK on a ready connection: without token and deadline"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        Box::new(Task {
            options: self.options.clone(),
            connection: None,
            name: name.bytes().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

struct Task {
    options: MySqlConnectOptions,
    /// Made by the first cycle, which is part of the warm-up.
    connection: Option<MySqlConnection>,
    /// The name, in hexadecimal digits.
    name: String,
}

#[async_trait]
impl Cycle for Task {
    async fn cycle(&mut self) -> Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect().await.map_err(failed)?,
        };
        for call in ["GET_LOCK(x'{}', 0)", "RELEASE_LOCK(x'{}')"] {
            let sql = format!("SELECT {}", call.replace("{}", &self.name));
            let row = raw_sql(AssertSqlSafe(sql)).fetch_one(&mut connection);
            let done: Option<i64> = row.await.and_then(|row| row.try_get(0)).map_err(failed)?;
            if done != Some(1) {
                let why = "another client uses the name of the own lock";
                return Err(Error::new(ErrorKind::Internal, why));
            }
        }
        self.connection = Some(connection);
        Ok(())
    }
}

pub(super) fn failed(error: sqlx::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "the store's driver failed").with_source(error)
}

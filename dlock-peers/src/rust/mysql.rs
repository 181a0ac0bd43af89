//! MySQL's locks by the driver: a row that is locked, and `GET_LOCK`. Each lock has a connection, and its statements are
//! prepared.

use async_trait::async_trait;
use sqlx::{
    ConnectOptions as _, Executor as _,
    mysql::{MySqlConnectOptions, MySqlConnection},
    query, query_scalar,
};

use super::client::{Client, Lock, without_keys};
use crate::failure::Failure;

pub(super) struct RowLock(MySqlConnectOptions);

pub(super) struct GetLock(MySqlConnectOptions);

/// The row of a name, on a connection.
struct Row {
    connection: MySqlConnection,
    name: String,
    is_there: bool,
}

/// The named lock of a connection.
struct Named {
    connection: MySqlConnection,
    name: String,
}

/// The table of the rows, which dlock does not use.
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS row_locks (name VARBINARY(255) PRIMARY KEY) ENGINE = InnoDB";

fn options(url: &str) -> Result<MySqlConnectOptions, Failure> {
    let options: MySqlConnectOptions = without_keys(url).parse()?;
    Ok(options.disable_statement_logging())
}

impl RowLock {
    pub(super) fn connect(url: &str) -> Result<Self, Failure> {
        options(url).map(Self)
    }
}

impl GetLock {
    pub(super) fn connect(url: &str) -> Result<Self, Failure> {
        options(url).map(Self)
    }
}

#[async_trait]
impl Client for RowLock {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        let mut connection = self.0.connect().await?;
        connection.execute(TABLE).await?;
        let insert = query("INSERT IGNORE INTO row_locks VALUES (?)").bind(name);
        insert.execute(&mut connection).await?;
        connection.execute("SET SESSION autocommit = 0").await?;
        let name = name.to_owned();
        Ok(Box::new(Row {
            connection,
            name,
            is_there: true,
        }))
    }
}

#[async_trait]
impl Lock for Row {
    async fn acquire(&mut self) -> Result<(), Failure> {
        // A row that is inserted is locked, too.
        let sql = match self.is_there {
            true => "SELECT 1 FROM row_locks WHERE name = ? FOR UPDATE",
            false => "INSERT INTO row_locks VALUES (?)",
        };
        let lock = query(sql).bind(&*self.name);
        lock.execute(&mut self.connection).await?;
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        query("COMMIT").execute(&mut self.connection).await?;
        Ok(())
    }

    fn rename(&mut self, name: String) {
        self.name = name;
        self.is_there = false;
    }
}

#[async_trait]
impl Client for GetLock {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Named {
            connection: self.0.connect().await?,
            name: name.to_owned(),
        }))
    }
}

impl Named {
    async fn call(&mut self, sql: &'static str) -> Result<(), Failure> {
        let done: Option<i64> = query_scalar(sql)
            .bind(&*self.name)
            .fetch_one(&mut self.connection)
            .await?;
        match done {
            Some(1) => Ok(()),
            other => Err(format!("{sql} answers {other:?}").into()),
        }
    }
}

/// Longer than a slice and its end.
const WAITING: &str = "SELECT GET_LOCK(?, 60)";

#[async_trait]
impl Lock for Named {
    async fn acquire(&mut self) -> Result<(), Failure> {
        self.call(WAITING).await
    }

    async fn release(&mut self) -> Result<(), Failure> {
        self.call("SELECT RELEASE_LOCK(?)").await
    }

    fn rename(&mut self, name: String) {
        self.name = name;
    }
}

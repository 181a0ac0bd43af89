//! MySQL's locks by the driver: a row that is locked, and `GET_LOCK`. Each lock has a connection, and its statements are
//! prepared. The connections of locks that are dropped serve later ones.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::toolkit::Lock as Mutex;
use sqlx::{
    ConnectOptions as _, Executor as _,
    mysql::{MySqlConnectOptions, MySqlConnection},
    query, query_scalar,
};

use super::client::{Client, Lock, without_keys};
use crate::failure::Failure;

pub(super) struct RowLock(Connections);

pub(super) struct GetLock(Connections);

/// The connections of a client.
struct Connections {
    options: MySqlConnectOptions,
    idle: Idle,
}

type Idle = Arc<Mutex<Vec<MySqlConnection>>>;

/// A connection, which becomes idle when its lock is dropped.
struct Connection {
    connection: Option<MySqlConnection>,
    idle: Idle,
}

/// The row of a name, on a connection.
struct Row {
    connection: Connection,
    name: String,
    is_there: bool,
}

/// The named lock of a connection.
struct Named {
    connection: Connection,
    name: String,
}

/// The table of the rows, which dlock does not use.
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS row_locks (name VARBINARY(255) PRIMARY KEY) ENGINE = InnoDB";

impl Connections {
    fn new(url: &str) -> Result<Self, Failure> {
        let options: MySqlConnectOptions = without_keys(url).parse()?;
        Ok(Self {
            options: options.disable_statement_logging(),
            idle: Idle::default(),
        })
    }

    /// An idle connection, or a new one that `set_up` has executed.
    async fn take(&self, set_up: &[&'static str]) -> Result<Connection, Failure> {
        let idle = self.idle.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let mut connection = self.options.connect().await?;
                for &statement in set_up {
                    connection.execute(statement).await?;
                }
                connection
            }
        };
        Ok(Connection {
            connection: Some(connection),
            idle: self.idle.clone(),
        })
    }
}

impl Connection {
    fn get(&mut self) -> Result<&mut MySqlConnection, Failure> {
        let connection = self.connection.as_mut();
        connection.ok_or_else(|| "the connection is idle".into())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.idle.lock().extend(self.connection.take());
    }
}

impl RowLock {
    pub(super) fn connect(url: &str) -> Result<Self, Failure> {
        Connections::new(url).map(Self)
    }
}

impl GetLock {
    pub(super) fn connect(url: &str) -> Result<Self, Failure> {
        Connections::new(url).map(Self)
    }
}

#[async_trait]
impl Client for RowLock {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        let set_up = [TABLE, "SET SESSION autocommit = 0"];
        let mut connection = self.0.take(&set_up).await?;
        let insert = query("INSERT IGNORE INTO row_locks VALUES (?)").bind(name);
        insert.execute(connection.get()?).await?;
        query("COMMIT").execute(connection.get()?).await?;
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
        lock.execute(self.connection.get()?).await?;
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        query("COMMIT").execute(self.connection.get()?).await?;
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
            connection: self.0.take(&[]).await?,
            name: name.to_owned(),
        }))
    }
}

impl Named {
    async fn call(&mut self, sql: &'static str) -> Result<(), Failure> {
        let done: Option<i64> = query_scalar(sql)
            .bind(&*self.name)
            .fetch_one(self.connection.get()?)
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

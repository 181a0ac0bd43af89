//! Connections to MySQL, as dlock-mysql has them.

use std::{collections::HashMap, fmt, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Login, Settings, Timeouts, Tls},
};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Row as _,
    mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlRow, MySqlSslMode},
    raw_sql,
};
use tokio::time::timeout;

/// dlock-mysql's own defaults.
const TIMEOUTS: Timeouts = Timeouts::new(Duration::from_secs(5), Duration::from_secs(2));
const PORT: u16 = 3306;

/// A row of a reply: all values as text.
pub(crate) type Row = Vec<Option<String>>;

/// The server of a URL, and how it is connected to.
#[derive(Clone)]
pub(crate) struct Server {
    /// The address, or the path of its socket.
    pub(crate) address: String,
    pub(crate) user: String,
    pub(crate) timeouts: Timeouts,
    pub(crate) options: MySqlConnectOptions,
}

/// A connection, with a bound on each reply.
pub(crate) struct Connection {
    inner: MySqlConnection,
    reply_max: Duration,
}

/// A failure of a statement.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The error of the server or of the driver.
    pub(crate) source: sqlx::Error,
}

impl Server {
    /// Reads the server's part of the settings, and the certificates.
    pub(crate) fn take(settings: &mut Settings) -> Result<Self> {
        let socket = settings.take_str("socket")?;
        let hosts = settings.take_hosts();
        let mut timeouts = TIMEOUTS;
        timeouts.take(settings)?;
        let login = Login::take(settings)?.read()?;
        let user = login.user().unwrap_or_default().to_owned();
        let database = settings.take_path().unwrap_or_default();
        let mut options = MySqlConnectOptions::new()
            .username(&user)
            .database(database.trim_start_matches('/'))
            // Our statements do not depend on these, and each costs a request.
            .set_names(false)
            .timezone(None)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .statement_cache_capacity(0)
            .disable_statement_logging();
        if let Some(password) = login.password() {
            options = options.password(password.expose());
        }
        options = encrypted(options, settings)?;
        let address = match (socket, hosts.first()) {
            (Some(socket), _) => {
                // The driver would request TLS even on a local socket.
                options = options.socket(&socket).ssl_mode(MySqlSslMode::Disabled);
                socket
            }
            (None, Some(host)) => {
                let port = host.port.unwrap_or(PORT);
                options = options.host(&host.name).port(port);
                format!("{}:{port}", host.name)
            }
            (None, None) => {
                return Err(settings.invalid("give a server, as in mysql://app@db-1/locks"));
            }
        };
        Ok(Self {
            address,
            user,
            timeouts,
            options,
        })
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        // Boxed: the future is large.
        let connecting = timeout(self.timeouts.connect, Box::pin(self.options.connect()));
        match connecting.await {
            Ok(Ok(inner)) => Ok(Connection {
                inner,
                reply_max: self.timeouts.reply,
            }),
            Ok(Err(source)) => Err(Failure { source }.into()),
            Err(_) => Err(timed_out(self.timeouts.connect)),
        }
    }
}

impl Connection {
    /// The rows of all results of `sql`, which has no text from outside.
    pub(crate) async fn query(&mut self, sql: impl Into<String>) -> Result<Vec<Row>, Failure> {
        let rows = self.fetch(sql.into()).await?;
        rows.iter()
            .map(texts)
            .collect::<Result<_, _>>()
            .map_err(Failure::of)
    }

    /// As [`query`](Self::query): the fields of the first row by their names.
    pub(crate) async fn query_fields(
        &mut self,
        sql: impl Into<String>,
    ) -> Result<Option<HashMap<String, String>>, Failure> {
        let rows = self.fetch(sql.into()).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let names = row.columns().iter().map(|column| column.name().to_owned());
        let values = texts(row).map_err(Failure::of)?;
        let values = values.into_iter().map(Option::unwrap_or_default);
        Ok(Some(names.zip(values).collect()))
    }

    async fn fetch(&mut self, sql: String) -> Result<Vec<MySqlRow>, Failure> {
        let rows = raw_sql(AssertSqlSafe(sql)).fetch_all(&mut self.inner);
        match timeout(self.reply_max, rows).await {
            Ok(rows) => rows.map_err(Failure::of),
            Err(_) => Err(Failure::timed_out()),
        }
    }

    /// Runs a statement that changes rows: how many it did.
    pub(crate) async fn execute(&mut self, sql: impl Into<String>) -> Result<u64, Failure> {
        let done = raw_sql(AssertSqlSafe(sql.into())).execute(&mut self.inner);
        match timeout(self.reply_max, done).await {
            Ok(done) => done.map(|done| done.rows_affected()).map_err(Failure::of),
            Err(_) => Err(Failure::timed_out()),
        }
    }

    /// Ends the session.
    pub(crate) async fn close(self) {
        let _ = timeout(self.reply_max, self.inner.close()).await;
    }
}

impl Failure {
    fn of(source: sqlx::Error) -> Self {
        Self { source }
    }

    fn timed_out() -> Self {
        Self::of(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))
    }

    /// The number of the server's error.
    pub(crate) fn number(&self) -> Option<u16> {
        let error = self.source.as_database_error()?;
        error
            .try_downcast_ref::<MySqlDatabaseError>()
            .map(MySqlDatabaseError::number)
    }

    /// Whether the account lacks a right, or is not known.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(
            self.number(),
            Some(1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698)
        )
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let kind = match failure.is_denied() {
            true => ErrorKind::Denied,
            false => ErrorKind::Unavailable,
        };
        Self::new(kind, "the driver of MySQL failed").with_source(failure.source)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The options contain the password.
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The TLS of the URL, as dlock-mysql reads it: by default the server encrypts if it can.
fn encrypted(options: MySqlConnectOptions, settings: &mut Settings) -> Result<MySqlConnectOptions> {
    let files = Tls::take(settings)?;
    let default = match (files.has_ca(), files.has_identity()) {
        (true, _) => "verify_identity",
        (false, true) => "required",
        (false, false) => "preferred",
    };
    let given = settings.take_str("tls")?;
    let mode: MySqlSslMode = given.as_deref().unwrap_or(default).parse().map_err(|_| {
        settings.invalid("tls is one of disabled, preferred, required, verify_ca, verify_identity")
    })?;
    let mut options = options.ssl_mode(mode);
    if matches!(mode, MySqlSslMode::VerifyCa | MySqlSslMode::VerifyIdentity) {
        options = options.ssl_ca_from_pem(files.load_ca_or_system()?);
    }
    Ok(match files.load_identity()? {
        Some((cert, key)) => options
            .ssl_client_cert_from_pem(cert)
            .ssl_client_key_from_pem(key),
        None => options,
    })
}

fn texts(row: &MySqlRow) -> Result<Row, sqlx::Error> {
    (0..row.len())
        .map(|column| row.try_get_unchecked(column))
        .collect()
}

fn timed_out(max: Duration) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the server has not answered within {max:?}"),
    )
}

//! Connecting to the server of a URL.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
};

use dlock_core::{Clock, Error, Result};
use sqlx::{
    ConnectOptions as _,
    mysql::{MySqlConnectOptions, MySqlSslMode},
};
use tokio::time::timeout;

use crate::{
    config::{Address, MySqlConfig},
    conn::connection::Connection,
    errors,
};

/// Connects to the server of a URL.
pub(crate) struct Connector {
    options: MySqlConnectOptions,
    pub(crate) config: MySqlConfig,
    pub(crate) clock: Clock,
    closed: AtomicBool,
    /// Whether a server has answered at the address: the URL is right then.
    has_connected: AtomicBool,
}

impl Connector {
    pub(crate) fn new(config: MySqlConfig) -> Self {
        let options = config
            .options()
            // Our statements do not depend on character set or time zone, and the driver would spend a round
            // trip on setting them.
            .set_names(false)
            .timezone(None)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .statement_cache_capacity(Connection::PREPARED_MAX)
            .disable_statement_logging();
        Self {
            options,
            config,
            clock: Clock::boottime(),
            closed: AtomicBool::new(false),
            has_connected: AtomicBool::new(false),
        }
    }

    /// Refuses all calls from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::closed());
        }
        Ok(())
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        self.check_open()?;
        // Read for each connection: a password or a certificate may have been replaced.
        let options = self.config.with_password(self.options.clone())?;
        let options = match self.config.address() {
            Address::Tcp { .. } => self.config.with_tls(options)?,
            // The driver would request TLS even on a local socket.
            Address::Socket(_) => options.ssl_mode(MySqlSslMode::Disabled),
        };
        // Boxed: the future is large, rare, and a part of every acquire.
        let connecting = timeout(self.config.timeouts.connect, Box::pin(options.connect()));
        match connecting.await {
            Ok(Ok(connection)) => {
                self.has_connected.store(true, Ordering::Relaxed);
                Ok(Connection::new(connection, self.clock.now()))
            }
            Ok(Err(error)) => Err(self.name_in(errors::of_connect(error))),
            Err(_) => {
                let max = self.config.timeouts.connect;
                Err(self.name_in(errors::connect_timed_out(max)))
            }
        }
    }

    /// The error with the address of the server.
    pub(crate) fn name_in(&self, error: Error) -> Error {
        let error = error.at(self.config.address());
        match self.has_connected.load(Ordering::Relaxed) {
            true => error.without_url_hint(),
            false => error,
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The options contain the password.
        f.debug_struct("Connector")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

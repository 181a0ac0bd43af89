//! The settings in the driver's terms, and back.

use std::fmt;

use sqlx::mysql::MySqlConnectOptions;

use super::{Address, MySqlConfig};

/// The options that the driver starts from. `Debug` leaves them out: they may have the password.
#[derive(Clone)]
pub(super) struct BaseOptions(pub(super) MySqlConnectOptions);

impl Default for BaseOptions {
    fn default() -> Self {
        Self(MySqlConnectOptions::new())
    }
}

impl fmt::Debug for BaseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BaseOptions")
    }
}

impl MySqlConfig {
    /// The driver's options: address, login and database.
    pub(crate) fn options(&self) -> MySqlConnectOptions {
        let base = self.base.clone().unwrap_or_default().0;
        let options = base
            .username(self.login.user().unwrap_or_default())
            .database(&self.database);
        let options = match self.login.password() {
            Some(password) => options.password(password.expose()),
            None => options,
        };
        match self.address() {
            Address::Tcp { host, port } => options.host(&host).port(port),
            Address::Socket(path) => options.socket(path),
        }
    }
}

//! The options of the driver that the others are added to.

use std::fmt;

use sqlx::mysql::MySqlConnectOptions;

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

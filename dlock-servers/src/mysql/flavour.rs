//! The servers that speak MySQL.

use crate::Program;

/// A server that speaks MySQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavour {
    /// MariaDB as the machine's distribution has it: 10.11 on Debian 12.
    MariaDbStable,
    /// The newest MySQL of the set: 9 or later.
    MySqlNewest,
}

impl Flavour {
    /// All servers.
    pub const ALL: [Self; 2] = [Self::MariaDbStable, Self::MySqlNewest];

    /// The flavour's name in the names of tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDbStable => "mariadb-stable",
            Self::MySqlNewest => "mysql-newest",
        }
    }

    /// Finds the server's program.
    ///
    /// # Errors
    ///
    /// Why it cannot be tested here, in a line.
    pub fn find(self) -> Result<Program, String> {
        // Both are administered by the same client.
        Program::installed("mariadb")?;
        match self {
            Self::MariaDbStable => Program::installed("mariadbd"),
            Self::MySqlNewest => Program::newest("usr/sbin/mysqld"),
        }
    }
}

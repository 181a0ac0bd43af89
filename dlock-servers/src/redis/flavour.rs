//! The servers that speak Redis.

use crate::Program;

/// A server that speaks Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavour {
    /// Redis as the machine's distribution has it: 7.0 on Debian 12.
    RedisStable,
    /// The newest Redis of the set: 8 or later.
    RedisNewest,
    /// The newest Valkey of the set: 9 or later.
    ValkeyNewest,
}

impl Flavour {
    /// All servers.
    pub const ALL: [Self; 3] = [Self::RedisStable, Self::RedisNewest, Self::ValkeyNewest];

    /// The flavour's name in the names of tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RedisStable => "redis-stable",
            Self::RedisNewest => "redis-newest",
            Self::ValkeyNewest => "valkey-newest",
        }
    }

    /// Finds the server's program.
    ///
    /// # Errors
    ///
    /// Why it cannot be tested here, in a line.
    pub fn find(self) -> Result<Program, String> {
        match self {
            Self::RedisStable => Program::installed("redis-server"),
            Self::RedisNewest => Program::newest("usr/bin/redis-server"),
            Self::ValkeyNewest => Program::newest("usr/bin/valkey-server"),
        }
    }
}

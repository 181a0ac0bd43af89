//! The stores, by their servers.

use std::fmt;

use clap::ValueEnum;

/// A store, by its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Redis,
    /// The one of the distribution.
    RedisStable,
    Valkey,
    RedisTls,
    RedisCluster,
    Etcd,
    Zk,
    #[value(name = "mysql")]
    MySql,
    #[value(name = "mariadb")]
    MariaDb,
}

/// The clients of a store are those of its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Redis,
    Etcd,
    Zk,
    MySql,
}

impl Store {
    pub(crate) fn family(self) -> Family {
        match self {
            Self::Redis
            | Self::RedisStable
            | Self::Valkey
            | Self::RedisTls
            | Self::RedisCluster => Family::Redis,
            Self::Etcd => Family::Etcd,
            Self::Zk => Family::Zk,
            Self::MySql | Self::MariaDb => Family::MySql,
        }
    }

    /// Whether all clients of the family connect to it by host and port alone.
    pub(crate) fn is_plain(self) -> bool {
        !matches!(self, Self::RedisTls | Self::RedisCluster)
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

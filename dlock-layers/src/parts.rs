//! The stores that a store is made of, by its URL.

use dlock_core::{
    Result,
    config::{Config, Settings},
};

use crate::{migrate, quorum, schemes::MIGRATE};

/// A store inside another one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NestedStore {
    /// The name of the part that it plays: `old`, `new`, `node 1`.
    pub label: String,
    /// The configuration by which it is opened.
    pub config: Config,
}

/// The stores that the store of `config` is made of, in the order in which it waits for them; `None` for a store that is
/// none of this crate. No I/O.
///
/// ```
/// use dlock_core::config::Config;
///
/// let config = Config::from_url("redis-quorum://db-1,db-2,db-3?ttl=10s")?;
/// let nodes = dlock_layers::parts(&config)?.expect("a quorum");
/// assert_eq!(nodes[2].label, "node 3");
/// assert_eq!(nodes[2].config.to_string(), "redis://db-3?ttl=10s");
/// # Ok::<(), dlock_core::Error>(())
/// ```
///
/// # Errors
///
/// `InvalidConfig` for settings that are wrong. Some are only checked when the store is opened.
pub fn parts(config: &Config) -> Result<Option<Vec<NestedStore>>> {
    let scheme = config.url().scheme();
    let mut settings = Settings::of(config)?;
    if scheme == MIGRATE {
        let stores = migrate::stores(&mut settings)?;
        let nested = |(label, config)| NestedStore {
            label: str::to_owned(label),
            config,
        };
        return Ok(Some(stores.into_iter().map(nested).collect()));
    }
    let Some(nodes) = quorum::nodes(scheme, &mut settings)? else {
        return Ok(None);
    };
    let nested = |(number, config)| NestedStore {
        label: format!("node {number}"),
        config,
    };
    Ok(Some((1..).zip(nodes).map(nested).collect()))
}

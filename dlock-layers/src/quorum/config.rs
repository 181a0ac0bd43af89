//! The settings of a quorum: `quorum:?1=URL&2=URL&3=URL`, and `redis-quorum://a,b,c`.

use dlock_core::{
    Result,
    config::{CommonSettings, Config, ConnectFuture, Registry, Settings},
};

use super::{backend::QuorumLock, node::Node, options::QuorumOptions, place::common_place};
use crate::schemes::{QUORUM, QUORUM_OF_HOSTS, is_layer, is_quorum};

/// Adds the schemes `quorum`, `redis-quorum` and `rediss-quorum` for the stores that `registry` has.
#[must_use]
pub fn register(registry: Registry) -> Registry {
    let stores = registry.clone();
    let of_keys = stores.clone();
    let registry = registry.register(QUORUM, move |settings| open(&of_keys, settings, None));
    QUORUM_OF_HOSTS
        .into_iter()
        .fold(registry, |registry, (scheme, node)| {
            let stores = stores.clone();
            registry.register(scheme, move |settings| open(&stores, settings, Some(node)))
        })
}

/// The configurations of the nodes of a store with `scheme`; `None` for another scheme.
pub(crate) fn nodes(scheme: &str, settings: &mut Settings) -> Result<Option<Vec<Config>>> {
    if !is_quorum(scheme) {
        return Ok(None);
    }
    let of_hosts = QUORUM_OF_HOSTS.iter().find(|(quorum, _)| *quorum == scheme);
    options(settings)?;
    Ok(Some(match of_hosts {
        Some((_, node)) => settings.take_store_of_each_host(node),
        None => of_keys(settings)?,
    }))
}

/// Reads the settings; `scheme` is that of nodes that the hosts are.
fn open(stores: &Registry, settings: &mut Settings, scheme: Option<&str>) -> Result<ConnectFuture> {
    let options = options(settings)?;
    let configs = match scheme {
        Some(scheme) => settings.take_store_of_each_host(scheme),
        None => of_keys(settings)?,
    };
    let checked = options.checked(configs.len());
    checked.map_err(|error| settings.invalid(error))?;
    check_places(settings, &configs)?;
    let mut inner = CommonSettings::default();
    for config in &configs {
        stores.check(config)?;
        let common = Settings::of(config)?.common().clone();
        if common.token_base.is_some() {
            let why =
                format!("{config}: token_base belongs to the quorum, not to one of its nodes");
            return Err(settings.invalid(why));
        }
        inner.ttl = inner.ttl.max(common.ttl);
        inner.wait = inner.wait.max(common.wait);
    }
    settings.inherit(&inner);
    let stores = stores.clone();
    Ok(Box::pin(async move {
        let node = |config: Config| {
            let (stores, place) = (stores.clone(), config.to_string());
            Node::opened_by(move || {
                let (stores, config) = (stores.clone(), config.clone());
                Box::pin(async move { Ok(stores.open(&config).await?.0) })
            })
            .at(place)
        };
        let nodes = configs.into_iter().map(node);
        Ok(Box::new(QuorumLock::open(nodes, &options).await?) as _)
    }))
}

fn options(settings: &mut Settings) -> Result<QuorumOptions> {
    let mut options = QuorumOptions::new();
    // What is allowed depends on the nodes.
    if let Some(need) = settings.take_u64("need", 0..=u64::MAX)? {
        options = options.need(usize::try_from(need).unwrap_or(usize::MAX));
    }
    let timeout = settings.take_duration("node_timeout", QuorumOptions::NODE_TIMEOUTS)?;
    Ok(match timeout {
        Some(timeout) => options.node_timeout(timeout),
        None => options,
    })
}

/// The nodes of the keys `1`, `2` and so on.
fn of_keys(settings: &mut Settings) -> Result<Vec<Config>> {
    let nodes = settings.take_numbered_stores()?;
    if nodes.is_empty() {
        let why = "the nodes are missing, as in quorum:?1=redis://a&2=redis://b&3=redis://c";
        return Err(settings.invalid(why));
    }
    for (number, node) in (1..).zip(&nodes) {
        let scheme = node.url().scheme();
        if is_layer(scheme) {
            let why = format!(
                "node {number} is a {scheme}: store, which is made of other stores and cannot be a node"
            );
            return Err(settings.invalid(why));
        }
    }
    Ok(nodes)
}

/// Refuses a server that is two nodes: it would count twice.
fn check_places(settings: &Settings, configs: &[Config]) -> Result<()> {
    for (at, config) in configs.iter().enumerate() {
        for (before, other) in configs[..at].iter().enumerate() {
            if let Some(place) = common_place(other.url(), config.url()) {
                let why = format!(
                    "nodes {} and {} are the same, {place}: it would count twice; leave out one",
                    before + 1,
                    at + 1
                );
                return Err(settings.invalid(why));
            }
        }
    }
    Ok(())
}

//! The names of stores in tables.

use dlock::config::Config;

use crate::data::{Run, Store};

/// The backend's name for each store, with a number where several have the same.
pub(crate) fn labels(backends: &[String]) -> Vec<String> {
    let label = |(at, backend): (usize, &String)| {
        let before = backends[..at]
            .iter()
            .filter(|other| *other == backend)
            .count();
        let is_alone = backends.iter().filter(|other| *other == backend).count() == 1;
        match is_alone {
            true => backend.clone(),
            false => format!("{backend}-{}", before + 1),
        }
    };
    backends.iter().enumerate().map(label).collect()
}

/// The address of a store, if another store of the run has the same backend: the hosts, or the path of files.
pub(crate) fn address(run: &Run, store: &Store) -> Option<String> {
    let same = run
        .stores
        .iter()
        .filter(|other| other.backend == store.backend);
    if same.count() < 2 {
        return None;
    }
    let config = Config::from_url(&store.url).ok()?;
    let hosts: Vec<String> = config
        .url()
        .hosts()
        .iter()
        .map(ToString::to_string)
        .collect();
    Some(match hosts.is_empty() {
        true => config.url().path().to_owned(),
        false => hosts.join(","),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_are_numbered() {
        let backends = ["redis", "etcd", "redis"].map(str::to_owned);
        assert_eq!(labels(&backends), ["redis-1", "etcd", "redis-2"]);
    }
}

//! The stores of a run as the report shows them: with a name, a colour and their verdict.

use dlock_verify::verdict::StoreVerdict;

use super::{
    format,
    plot::{KINDS, Series},
};
use crate::{
    data::{Cycles, Run, Store},
    labels::address,
    stats::median_ns,
};

/// How many characters of a name are shown; a server may report any.
const NAME_MAX: usize = 32;
/// How many characters fit below the name.
const BELOW_NAME_MAX: usize = 40;

/// Everything that the report is made of.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    pub(super) run: &'a Run,
    pub(super) stores: Vec<ShownStore<'a>>,
    /// Whether there are verdicts at all.
    pub(super) is_verified: bool,
}

/// A store.
#[derive(Debug)]
pub(super) struct ShownStore<'a> {
    /// The colour and the shape of the store.
    kind: usize,
    /// The product's name, with a number where there are several.
    pub(super) name: String,
    pub(super) data: &'a Store,
    pub(super) verdict: Option<&'a StoreVerdict>,
    /// Where it is, if another store has the same backend.
    address: Option<String>,
}

impl<'a> Shown<'a> {
    /// Brings the verdicts to the stores that they are about.
    pub(super) fn new(run: &'a Run) -> Self {
        let stores = run.stores.iter().zip(kinds(&run.stores));
        let stores = stores.map(|(data, kind)| ShownStore {
            kind,
            name: name(data),
            data,
            verdict: run.verdict(data),
            address: address(run, data),
        });
        Self {
            run,
            stores: stores.collect(),
            is_verified: run.verdicts.is_some(),
        }
    }

    /// Whether any fault struck in the verification.
    pub(super) fn has_faults(&self) -> bool {
        let mut verdicts = self.stores.iter().filter_map(|store| store.verdict);
        verdicts.any(|verdict| verdict.strikes() > 0)
    }

    /// The largest number of tasks that any store was measured with, above one.
    pub(super) fn most_tasks(&self) -> Option<u32> {
        let all = self.stores.iter().flat_map(|store| &store.data.cycles);
        all.map(|cycles| cycles.tasks)
            .filter(|tasks| *tasks > 1)
            .max()
    }

    /// The name of the store with that label.
    pub(super) fn name_of(&self, label: &str) -> Option<&str> {
        let mut stores = self.stores.iter();
        let found = stores.find(|store| store.data.label == label)?;
        Some(&found.name)
    }
}

impl ShownStore<'_> {
    pub(super) fn series(&self) -> Series<'_> {
        Series {
            kind: self.kind,
            name: &self.name,
        }
    }

    /// The version if the name has the product, else the server or the URL.
    pub(super) fn below_name(&self) -> String {
        let Some(server) = self.data.server.as_deref() else {
            return format::clipped(&self.data.url, BELOW_NAME_MAX);
        };
        let (product, version) = product_and_version(server);
        let is_enough = !version.is_empty() && self.name.starts_with(&product);
        let words = if is_enough { &version } else { server };
        let words = match &self.address {
            Some(address) => format!("{words}, {address}"),
            None => words.to_owned(),
        };
        format::clipped(&words, BELOW_NAME_MAX)
    }

    /// The cycles with that number of tasks.
    pub(super) fn cycles(&self, tasks: u32) -> Option<&Cycles> {
        let mut all = self.data.cycles.iter();
        all.find(|cycles| cycles.tasks == tasks)
    }

    /// The median time until the next grant after a kill, in nanoseconds.
    pub(super) fn takeover_median(&self) -> Option<f64> {
        let takeover = self.data.takeover.as_ref()?;
        median_ns(&takeover.killed_ns).map(format::float)
    }

    /// Whether locks of this store exclude processes of different machines.
    pub(super) fn is_shared(&self) -> bool {
        !["file", "memory"].contains(&self.data.backend.as_str())
    }
}

/// A colour and a shape for each store: those of its backend in all reports, or free ones if they are taken.
fn kinds(stores: &[Store]) -> Vec<usize> {
    let mut kinds: Vec<usize> = Vec::with_capacity(stores.len());
    for store in stores {
        let own = ["file", "redis", "etcd", "zk", "mysql"]
            .iter()
            .position(|backend| *backend == store.backend);
        let own = own.unwrap_or(KINDS - 1);
        let is_free = |kind: &usize| !kinds.contains(kind);
        // From the last one backwards: the first ones are those of other backends.
        let other = (0..KINDS).rev().find(is_free);
        let kind = if is_free(&own) {
            own
        } else {
            other.unwrap_or(kinds.len() % KINDS)
        };
        kinds.push(kind);
    }
    kinds
}

/// The product and the version of a server, such as `Redis` and `7.0.15`.
fn product_and_version(server: &str) -> (String, String) {
    let words: Vec<&str> = server.split_whitespace().collect();
    let is_version = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    let (product, version) =
        words.split_at(words.iter().position(is_version).unwrap_or(words.len()));
    (product.join(" "), version.join(" "))
}

/// The product instead of the backend, such as `Valkey 2` for the label `redis 2`.
fn name(store: &Store) -> String {
    let (product, _) = product_and_version(store.server.as_deref().unwrap_or_default());
    let product = match (product, store.backend.as_str()) {
        (product, _) if !product.is_empty() => product,
        (_, "redis") => "Redis".to_owned(),
        (_, "zk") => "ZooKeeper".to_owned(),
        (_, "mysql") => "MySQL".to_owned(),
        (_, backend) => backend.to_owned(),
    };
    let number = store.label.strip_prefix(&store.backend);
    let name = number.map_or_else(
        || store.label.clone(),
        |number| format!("{product}{number}"),
    );
    format::clipped(&name, NAME_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(label: &str, backend: &str, server: Option<&str>) -> String {
        let store = Store {
            label: label.to_owned(),
            backend: backend.to_owned(),
            server: server.map(str::to_owned),
            ..Store::default()
        };
        name(&store)
    }

    #[test]
    fn a_store_has_the_name_of_its_product() {
        assert_eq!(named("redis", "redis", Some("Redis 7.0.15")), "Redis");
        assert_eq!(named("redis 2", "redis", Some("Valkey 9.0.1")), "Valkey 2");
        assert_eq!(named("zk", "zk", None), "ZooKeeper");
        assert_eq!(named("file", "file", None), "file");
        assert_eq!(named("mine", "other", None), "mine");
    }

    #[test]
    fn a_backend_has_its_colour_in_all_reports() {
        let kinds_of = |backends: &[&str]| {
            let stores = backends.iter().map(|backend| Store {
                backend: (*backend).to_owned(),
                ..Store::default()
            });
            kinds(&stores.collect::<Vec<_>>())
        };
        assert_eq!(kinds_of(&["etcd", "redis"]), [2, 1]);
        assert_eq!(kinds_of(&["redis", "redis", "file"]), [1, 5, 0]);
        let many = kinds_of(&["redis"; 8]);
        assert_eq!(many.len(), 8);
        assert!(many.iter().all(|kind| *kind < KINDS));
    }
}

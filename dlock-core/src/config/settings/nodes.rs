//! The configurations of several equal stores: one at each host of a URL, or with numbers as keys.

use std::collections::BTreeSet;

use super::Settings;
use crate::{
    base::error::Result,
    config::{
        configuration::Config,
        source::Source,
        url::{BackendUrl, Host},
    },
};

/// The keys of numbered stores, as the list of known keys has them: [`BackendUrl::NODES_MAX`].
const NUMBERS: &str = "1 to 50";

impl Settings {
    /// Takes the hosts and all that is left, for a store that is made of one store at each host: the configuration of
    /// each, with `scheme`. A store that shall have the `ttl` of this one has it.
    ///
    /// Keys of the outer store are taken before. The [`Source`] of each result is [`Source::Nested`], with the host.
    ///
    /// ```
    /// use dlock_core::config::{Config, Settings};
    ///
    /// let config = Config::from_url("redis-quorum://:hunter2@db-1,db-2/0?need=2&ttl=10s&timeout=1s")?;
    /// let mut settings = Settings::of(&config)?;
    /// let need = settings.take_u64("need", 1..=2)?;
    /// let nodes = settings.take_store_of_each_host("redis");
    /// assert_eq!(nodes[1].to_string(), "redis://:***@db-2/0?timeout=1s&ttl=10s");
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    pub fn take_store_of_each_host(&mut self, scheme: &str) -> Vec<Config> {
        let (user, password) = (self.user.take(), self.password.take());
        let hosts = std::mem::take(&mut self.hosts);
        let (path, params) = (
            std::mem::take(&mut self.path),
            std::mem::take(&mut self.params),
        );
        let of_host = |host: Host| {
            let source = Source::Nested {
                outer: Box::new(self.source.clone()),
                key: host.to_string(),
                variable: None,
            };
            let url = BackendUrl {
                scheme: scheme.to_owned(),
                user: user.clone(),
                password: password.clone(),
                hosts: vec![host],
                path: path.clone(),
                params: params.clone(),
            };
            // Such a key may be mistyped, too.
            let config = Config::new(url, source).beside(self.known.clone());
            self.with_ttl(config)
        };
        hosts.into_iter().map(of_host).collect()
    }

    /// Takes the stores of the keys `1`, `2` and so on, each as [`take_store`](Self::take_store) does. One that shall have
    /// the `ttl` of this store has it. None of the keys may be there.
    ///
    /// ```
    /// use dlock_core::config::{Config, Settings};
    ///
    /// let config = Config::from_url("quorum:?1=redis://a&2=redis://b&ttl=10s")?;
    /// let nodes = Settings::of(&config)?.take_numbered_stores()?;
    /// assert_eq!(nodes[1].to_string(), "redis://b?ttl=10s");
    ///
    /// let gap = Config::from_url("quorum:?1=redis://a&3=redis://c")?;
    /// let error = Settings::of(&gap)?.take_numbered_stores().unwrap_err();
    /// assert!(error.to_string().starts_with("node 2 is missing"));
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a gap in the numbers, and as [`take_store`](Self::take_store). More stores than
    /// [`BackendUrl::NODES_MAX`] are not an error here.
    pub fn take_numbered_stores(&mut self) -> Result<Vec<Config>> {
        self.known.push(NUMBERS);
        let given: BTreeSet<usize> = self.params.keys().filter_map(|key| number(key)).collect();
        let gap = (1..)
            .zip(&given)
            .find(|(expected, given)| expected != *given);
        if let Some((missing, given)) = gap {
            return Err(self.invalid(format!(
                "node {missing} is missing, and there is node {given}; the keys of the nodes are 1, 2, 3 and so on"
            )));
        }
        let mut stores = Vec::with_capacity(given.len());
        for key in given {
            let key = key.to_string();
            if let Some(value) = self.params.remove(&key) {
                stores.push(self.with_ttl(self.store_of(&key, &value)?));
            }
        }
        Ok(stores)
    }

    /// The configuration of a store that this one is made of, with the `ttl` of this one unless it has one.
    ///
    /// ```
    /// use dlock_core::config::{Config, Settings};
    ///
    /// let settings = Settings::of(&Config::from_url("quorum:?ttl=10s")?)?;
    /// let node = settings.with_ttl(Config::from_url("redis://db-1")?);
    /// assert_eq!(node.to_string(), "redis://db-1?ttl=10s");
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_ttl(&self, inner: Config) -> Config {
        match self.common.ttl {
            Some(ttl) if inner.url().param("ttl").is_none() => {
                inner.with_param("ttl", humantime::format_duration(ttl).to_string())
            }
            _ => inner,
        }
    }
}

/// The number that `key` is, from 1 and without leading zeros.
fn number(key: &str) -> Option<usize> {
    let number = key.parse().ok().filter(|number| *number > 0)?;
    (usize::to_string(&number) == key).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_known_keys_has_the_bound() {
        assert_eq!(NUMBERS, format!("1 to {}", BackendUrl::NODES_MAX));
    }

    #[test]
    fn a_number_has_one_form() {
        for (key, expected) in [("1", Some(1)), ("50", Some(50)), ("0", None), ("01", None)] {
            assert_eq!(number(key), expected, "{key}");
        }
        for key in ["", "+1", "-1", "1a", "node"] {
            assert_eq!(number(key), None, "{key}");
        }
    }

    #[test]
    fn gaps_are_named() -> Result<()> {
        for (url, missing) in [
            (
                "a:?1=memory:&3=memory:",
                "node 2 is missing, and there is node 3",
            ),
            (
                "a:?2=memory:&3=memory:",
                "node 1 is missing, and there is node 2",
            ),
            (
                "a:?1=memory:&2=memory:&70=memory:",
                "node 3 is missing, and there is node 70",
            ),
        ] {
            let taken = Settings::of(&Config::from_url(url)?)?.take_numbered_stores();
            let error = taken.expect_err(url).to_string();
            assert!(error.starts_with(missing), "{error}");
        }
        Ok(())
    }
}

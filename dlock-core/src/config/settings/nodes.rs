//! The configurations of several equal stores, one at each host of a URL.

use super::Settings;
use crate::config::{
    configuration::Config,
    source::Source,
    url::{BackendUrl, Host},
};

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
            self.with_ttl(Config::new(url, source))
        };
        hosts.into_iter().map(of_host).collect()
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

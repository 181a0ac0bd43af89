//! Other URLs of the same store, and the text for another process that connects to it.

use super::{BackendUrl, Host, write::Written};

impl BackendUrl {
    /// This URL with the value of `key` set to `value`, which is not encoded.
    ///
    /// ```
    /// use dlock_core::config::BackendUrl;
    ///
    /// let url = BackendUrl::parse("zk://zoo-1?session=30s")?.with_param("session", "6s");
    /// assert_eq!(url.to_string(), "zk://zoo-1?session=6s");
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_param(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.params.insert(key.into(), value.into());
        self
    }

    /// This URL with other servers.
    ///
    /// ```
    /// use dlock_core::config::BackendUrl;
    ///
    /// let url = BackendUrl::parse("etcd://app@etcd-1,etcd-2")?;
    /// let url = url.with_hosts(["127.0.0.1:2380".parse()?]);
    /// assert_eq!(url.to_string(), "etcd://app@127.0.0.1:2380");
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_hosts(mut self, hosts: impl IntoIterator<Item = Host>) -> Self {
        self.hosts = hosts.into_iter().collect();
        self
    }

    /// The URL in normal form *with its passwords* and those of nested URLs, for another process that connects to the store.
    ///
    /// All users of a machine can see the arguments of a process: pass it in the environment or a file.
    ///
    /// ```
    /// use dlock_core::config::BackendUrl;
    ///
    /// let url = BackendUrl::parse("redis://app:a%40b@db-1?ttl=10s")?;
    /// assert_eq!(url.expose(), "redis://app:a%40b@db-1?ttl=10s");
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    #[must_use]
    pub fn expose(&self) -> String {
        Written(self).to_string()
    }
}

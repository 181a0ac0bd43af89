//! The servers of a store.

use std::fmt::Display;

use crate::{
    base::error::Result,
    config::{check::invalid, url::Host},
};

/// The servers of a store, from a URL or from code; checked by [`check`](Self::check).
///
/// ```
/// use dlock_core::config::HostList;
///
/// let hosts = HostList::new(["db-1", "db-2:7000", "[::1]:7000", "::1"]);
/// hosts.check()?;
/// assert_eq!(hosts.iter().last().unwrap().to_string(), "[::1]");
///
/// let error = HostList::new(["db-1:70000"]).check().unwrap_err();
/// assert_eq!(error.to_string(), "a port is a number from 1 to 65535");
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostList {
    hosts: Vec<Host>,
    /// The reason to refuse the first malformed one. Its text may hold a password, so that is not kept.
    malformed: Option<String>,
}

impl HostList {
    /// The longest list: more servers than a user types.
    pub const HOSTS_MAX: usize = 32;

    /// Takes names and addresses, each with a port or without one: `host`, `host:port`, `[address]:port`, and
    /// an IPv6 address also without brackets.
    pub fn new<I>(hosts: I) -> Self
    where
        I: IntoIterator,
        I::Item: Display,
    {
        let mut list = Self::default();
        for host in hosts {
            match Host::from_text(&host.to_string()) {
                Ok(host) => list.hosts.push(host),
                Err(why) => {
                    list.malformed.get_or_insert_with(|| why.into_owned());
                }
            }
        }
        list
    }

    /// The servers, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Host> {
        self.hosts.iter()
    }

    /// How many servers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there is no server.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Checks that there is a server, that there are not more than [`HOSTS_MAX`](Self::HOSTS_MAX), and that none
    /// is malformed.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, without the text of a malformed host, which may be a password.
    pub fn check(&self) -> Result<()> {
        if let Some(why) = &self.malformed {
            return Err(invalid(why.clone()));
        }
        let (count, max) = (self.hosts.len(), Self::HOSTS_MAX);
        match count {
            0 => Err(invalid("a server is missing, such as 127.0.0.1".to_owned())),
            _ if count > max => Err(invalid(format!(
                "{count} servers are given, allowed are at most {max}"
            ))),
            _ => Ok(()),
        }
    }
}

impl From<Vec<Host>> for HostList {
    fn from(hosts: Vec<Host>) -> Self {
        Self {
            hosts,
            malformed: None,
        }
    }
}

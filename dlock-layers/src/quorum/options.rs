//! The options of a quorum, and their bounds.

use std::{ops::RangeInclusive, time::Duration};

use dlock_core::{Error, ErrorKind, Result, config::BackendUrl};

/// The options of a [`QuorumLock`](super::QuorumLock).
///
/// ```
/// use std::time::Duration;
///
/// use dlock_layers::quorum::QuorumOptions;
///
/// let options = QuorumOptions::new().need(4).node_timeout(Duration::from_millis(200));
/// assert_ne!(options, QuorumOptions::new());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumOptions {
    need: Option<usize>,
    node_timeout: Option<Duration>,
}

impl QuorumOptions {
    /// How many nodes a quorum has: two, where both must hold a lock, to [`BackendUrl::NODES_MAX`].
    pub const NODES: RangeInclusive<usize> = 2..=Self::NODES_MAX;

    pub(super) const NODES_MAX: usize = BackendUrl::NODES_MAX;

    /// The default of [`node_timeout`](Self::node_timeout): ten round trips within a region, and no long stop for a lock.
    pub const NODE_TIMEOUT: Duration = Duration::from_millis(50);

    /// The bounds of [`node_timeout`](Self::node_timeout).
    pub const NODE_TIMEOUTS: RangeInclusive<Duration> =
        Duration::from_millis(1)..=Duration::from_secs(10);

    /// The default options.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            need: None,
            node_timeout: None,
        }
    }

    /// Sets how many nodes must hold a lock: more than half, and at most all. The default is the smallest majority, which
    /// goes on with as many nodes down as possible.
    ///
    /// A larger number excludes two holders even if more than `2·need − N − 1` of the `N` nodes forget their locks.
    #[must_use]
    pub const fn need(mut self, need: usize) -> Self {
        self.need = Some(need);
        self
    }

    /// Sets how long an acquire waits for the answer of a node: within
    /// [`NODE_TIMEOUTS`](Self::NODE_TIMEOUTS), by default [`NODE_TIMEOUT`](Self::NODE_TIMEOUT).
    #[must_use]
    pub const fn node_timeout(mut self, timeout: Duration) -> Self {
        self.node_timeout = Some(timeout);
        self
    }

    /// The options for `nodes` nodes, if they are within their bounds.
    pub(super) fn checked(&self, nodes: usize) -> Result<Checked> {
        let invalid = |why: String| Err(Error::new(ErrorKind::InvalidConfig, why));
        if !Self::NODES.contains(&nodes) {
            let (least, most) = (Self::NODES.start(), Self::NODES.end());
            return invalid(format!(
                "number of nodes {nodes} is out of range ({least} to {most})"
            ));
        }
        let majority = nodes / 2 + 1;
        let need = self.need.unwrap_or(majority);
        if !(majority..=nodes).contains(&need) {
            let why = match need < majority {
                true => ": fewer could be two holders",
                false => "",
            };
            return invalid(format!(
                "need={need} of {nodes} nodes is out of range ({majority} to {nodes}){why}"
            ));
        }
        let node_timeout = self.node_timeout.unwrap_or(Self::NODE_TIMEOUT);
        if !Self::NODE_TIMEOUTS.contains(&node_timeout) {
            let (least, most) = (Self::NODE_TIMEOUTS.start(), Self::NODE_TIMEOUTS.end());
            return invalid(format!(
                "node_timeout={node_timeout:?} is out of range ({least:?} to {most:?})"
            ));
        }
        Ok(Checked {
            majority,
            need,
            node_timeout,
        })
    }
}

/// Options that are within their bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    /// The smallest majority of all nodes.
    pub(super) majority: usize,
    pub(super) need: usize,
    pub(super) node_timeout: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_holders_are_never_possible() {
        for (nodes, allowed) in [
            (2, 2..=2),
            (3, 2..=3),
            (4, 3..=4),
            (5, 3..=5),
            (50, 26..=50),
        ] {
            for need in 0..=nodes + 1 {
                let checked = QuorumOptions::new().need(need).checked(nodes);
                assert_eq!(
                    checked.is_ok(),
                    allowed.contains(&need),
                    "{need} of {nodes}"
                );
            }
            let checked = QuorumOptions::new().checked(nodes).expect("the default");
            assert_eq!(checked.need, nodes / 2 + 1);
        }
        for nodes in [0, 1, 51] {
            assert!(QuorumOptions::new().checked(nodes).is_err(), "{nodes}");
        }
    }
}

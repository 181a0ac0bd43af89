//! A request to a node, and its reply.

use std::{sync::Arc, time::Duration};

use dlock_core::{Result, toolkit::Connected};
use redis::Value;

use crate::{
    conn::{connection::Connection, reconnect::Reconnect},
    errors::{self, RedirectScope},
    scripts::Call,
};

/// The longest time before a request is hedged. Otherwise core would drop each try of a renewal or a release
/// while a connection hangs: half of [`RELEASE_TRY_MAX`](dlock_core::backend::RELEASE_TRY_MAX).
pub(crate) const HEDGE_AFTER_MAX: Duration = Duration::from_millis(2_500);

/// A request to one node.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) call: Call<'a>,
    /// A request without a reply for so long is sent on a new connection, too. Never one that grants.
    pub(crate) hedge_after: Option<Duration>,
    /// `Request` if the node does not own the slot yet.
    pub(crate) scope: RedirectScope,
}

/// The reply, and the connection that it came from.
pub(crate) struct Reply {
    pub(crate) value: Value,
    pub(crate) connection: Connected<Arc<Connection>>,
    pub(super) reconnect: Arc<Reconnect>,
}

impl Reply {
    /// Drops the connection if the server is a replica now: the next request probes it again.
    pub(crate) fn reconnect_if_demoted<T>(&self, outcomes: &[Result<T>]) {
        let is_replica = |outcome: &Result<T>| outcome.as_ref().is_err_and(errors::is_replica);
        if outcomes.iter().any(is_replica) {
            self.reconnect.drop_connection(self.connection.generation());
        }
    }
}

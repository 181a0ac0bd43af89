//! The driver's connection, and the task that serves it.

use std::sync::Arc;

use redis::{
    Cmd, Pipeline, RedisFuture, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use tokio::task::JoinSet;

/// A connection of the driver. It ends with its last clone, also if requests have no reply yet.
#[derive(Clone)]
pub(crate) struct DriverConnection {
    inner: MultiplexedConnection,
    /// The task, if it is not the driver's own.
    _task: Option<Arc<JoinSet<()>>>,
}

impl From<MultiplexedConnection> for DriverConnection {
    fn from(inner: MultiplexedConnection) -> Self {
        Self { inner, _task: None }
    }
}

#[cfg(feature = "tls")]
impl DriverConnection {
    /// Serves the connection by `task`.
    pub(super) fn spawn(
        inner: MultiplexedConnection,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(task);
        Self {
            inner,
            _task: Some(Arc::new(tasks)),
        }
    }
}

impl ConnectionLike for DriverConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.inner.req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.inner.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}

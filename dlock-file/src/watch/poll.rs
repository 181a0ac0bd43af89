//! Systems without inotify: waiters and the task poll.

use std::{convert::Infallible, io, path::Path, sync::Arc};

use crate::{keys::FileName, watch::change::Change};

/// Never made.
#[derive(Debug)]
pub(crate) struct Watcher(Infallible);

/// Never made.
#[derive(Debug)]
pub(crate) struct Subscription(Infallible);

/// Never made.
pub(crate) struct Events(Infallible);

impl Watcher {
    pub(crate) fn start() -> io::Result<Arc<Self>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn watch_directory(&self, _path: &Path) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn watches_directory(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn subscribe(
        self: &Arc<Self>,
        _path: &Path,
        _file_name: &FileName,
    ) -> io::Result<Subscription> {
        match self.0 {}
    }

    pub(crate) fn events(self: &Arc<Self>) -> io::Result<Events> {
        match self.0 {}
    }
}

impl Subscription {
    pub(crate) async fn woken(&self) {
        match self.0 {}
    }
}

impl Events {
    pub(crate) async fn next(&mut self) -> io::Result<Vec<Change>> {
        match self.0 {}
    }
}

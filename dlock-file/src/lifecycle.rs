//! The backend's lifecycle: its directory, its watch and its task, from the first lock to the close.

use std::sync::Arc;

use dlock_core::{Error, ErrorKind, Result, toolkit::Lock};
use tokio::{runtime::Handle, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    config::FileConfig,
    hold::Holds,
    keys::FileName,
    store::directory::Directory,
    watch::{RECHECK_EVERY, Subscription, Watcher, change::Change, task},
};

/// The state of a backend between `open` and `close`.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    config: FileConfig,
    held: Arc<Holds>,
    /// `None` after the close.
    open: Lock<Option<Open>>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct Open {
    directory: Arc<Directory>,
    /// `None` before the first lock, and where the system has no room for a watch.
    watcher: Option<Arc<Watcher>>,
    /// The task that reads the watch; `None` before the first lock.
    task: Option<JoinHandle<()>>,
}

impl Lifecycle {
    pub(crate) fn open(config: FileConfig) -> Result<Arc<Self>> {
        let directory = Arc::new(Directory::open(&config)?);
        let open = Open {
            directory,
            watcher: None,
            task: None,
        };
        Ok(Arc::new(Self {
            config,
            held: Arc::default(),
            open: Lock::new(Some(open)),
            ended: CancellationToken::new(),
        }))
    }

    pub(crate) fn config(&self) -> &FileConfig {
        &self.config
    }

    pub(crate) fn held(&self) -> &Arc<Holds> {
        &self.held
    }

    /// The end of the backend: cancelled by the close.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        self.open
            .lock()
            .as_ref()
            .map(drop)
            .ok_or_else(Error::closed)
    }

    /// The directory.
    pub(crate) fn directory(&self) -> Result<Arc<Directory>> {
        self.open
            .lock()
            .as_ref()
            .map(|open| open.directory.clone())
            .ok_or_else(Error::closed)
    }

    /// The directory, watched from now on.
    ///
    /// The task lives in the runtime of the first lock. When that has ended, the next lock starts
    /// another in its own.
    pub(crate) fn watched_directory(self: &Arc<Self>) -> Result<Arc<Directory>> {
        let mut open = self.open.lock();
        let open = open.as_mut().ok_or_else(Error::closed)?;
        if open.task.as_ref().is_none_or(JoinHandle::is_finished) {
            let runtime = Handle::try_current().map_err(|error| {
                Error::new(ErrorKind::Unavailable, "locks need a tokio runtime").with_source(error)
            })?;
            open.start_watching();
            let events = open
                .watcher
                .as_ref()
                .and_then(|watcher| watcher.events().ok());
            let (applying, checking) = (self.held.clone(), self.clone());
            let apply = move |changes: &[Change]| applying.apply(changes);
            let recheck = move |is_read| checking.check(is_read);
            let task = task::run(events, self.ended.clone(), apply, recheck);
            open.task = Some(runtime.spawn(task));
        }
        Ok(open.directory.clone())
    }

    /// Opens the directory again, with all checks, if its path leads elsewhere by now.
    pub(crate) fn refresh_directory(&self) -> Result<()> {
        let mut open = self.open.lock();
        let open = open.as_mut().ok_or_else(Error::closed)?;
        if !open.directory.is_in_place()? {
            open.directory = Arc::new(Directory::open(&self.config)?);
            open.watch_directory();
        }
        Ok(())
    }

    /// A watch of the file at the path of `file_name`; `None` where there is no room for one.
    pub(crate) fn subscribe(&self, file_name: &FileName) -> Option<Subscription> {
        let watcher = self.open.lock().as_ref()?.watcher.clone()?;
        let path = self.config.directory().join(file_name.as_str());
        watcher
            .subscribe(&path, file_name)
            .inspect_err(|error| tracing::debug!(%error, "a waiter polls its lock file"))
            .ok()
    }

    /// Checks the directory, and also each held file unless the watch reports removed files. `is_read` is
    /// whether the watch is being read.
    fn check(&self, is_read: bool) {
        if self.held.is_empty() {
            return;
        }
        let Some((directory, watcher)) = self
            .open
            .lock()
            .as_ref()
            .map(|open| (open.directory.clone(), open.watcher.clone()))
        else {
            return;
        };
        let is_watched = is_read && watcher.is_some_and(|watcher| watcher.watches_directory());
        // A failed check is not a loss; it is repeated.
        if !is_watched || matches!(directory.is_in_place(), Ok(false)) {
            self.held.check_all();
        }
    }

    /// Ends everything (K12). Idempotent.
    pub(crate) async fn close(&self) {
        let open = self.open.lock().take();
        self.end();
        self.held.close();
        if let Some(task) = open.and_then(|open| open.task) {
            // The task ends at once, unless its runtime is not driven.
            let _ = timeout(RECHECK_EVERY, task).await;
        }
    }

    /// Ends the task and all waiters.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }
}

impl Open {
    fn start_watching(&mut self) {
        if self.watcher.is_none() {
            self.watcher = Watcher::start()
                .inspect_err(|error| {
                    tracing::warn!(
                        %error,
                        "no inotify instance (sysctl fs.inotify.max_user_instances): \
                         lock files are polled"
                    );
                })
                .ok();
            self.watch_directory();
        }
    }

    fn watch_directory(&self) {
        let Some(watcher) = &self.watcher else { return };
        if let Err(error) = watcher.watch_directory(self.directory.path()) {
            tracing::warn!(
                %error,
                "no inotify watch (sysctl fs.inotify.max_user_watches): \
                 a removed lock file is noticed late"
            );
        }
    }
}

//! inotify(7): one instance for a backend, read by one task.

use std::{
    collections::HashMap,
    fmt, io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    path::Path,
    sync::Arc,
};

use rustix::{
    fs::inotify::{self, CreateFlags, Event, ReadFlags, Reader, WatchFlags},
    io::Errno,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::Notify,
};

use crate::{keys::FileName, watch::change::Change};

use dlock_core::toolkit::Lock;

/// Events that remove or replace a lock file.
const DIRECTORY_EVENTS: WatchFlags = WatchFlags::DELETE
    .union(WatchFlags::MOVE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// A holder has its file open for writing, so its release or its death sends this event. Inspections open it
/// read-only.
const FILE_EVENTS: WatchFlags = WatchFlags::CLOSE_WRITE.union(WatchFlags::DONT_FOLLOW);

/// Room for some dozens of events; the next read returns the rest.
const BUFFER_BYTES: usize = 4096;

/// An inotify instance and its waiters.
pub(crate) struct Watcher {
    descriptor: OwnedFd,
    watches: Lock<Watches>,
}

#[derive(Default)]
struct Watches {
    directory: Option<i32>,
    files: HashMap<i32, Vec<Waiter>>,
}

struct Waiter {
    file_name: FileName,
    /// Keeps one wake-up that comes while its waiter checks the file, so none is missed.
    wake: Arc<Notify>,
}

impl Watcher {
    /// Creates the instance. Fails when the user has too many (`fs.inotify.max_user_instances`).
    pub(crate) fn start() -> io::Result<Arc<Self>> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Arc::new(Self {
            descriptor,
            watches: Lock::default(),
        }))
    }

    /// Watches the directory at `path`, in place of the one before.
    pub(crate) fn watch_directory(&self, path: &Path) -> io::Result<()> {
        let mut watches = self.watches.lock();
        let added = inotify::add_watch(&self.descriptor, path, DIRECTORY_EVENTS)?;
        if let Some(old) = watches.directory.replace(added).filter(|old| *old != added) {
            self.remove(old);
        }
        Ok(())
    }

    /// Whether removed files send events. They do not when there was no room for a watch, or after the directory
    /// was removed.
    pub(crate) fn watches_directory(&self) -> bool {
        self.watches.lock().directory.is_some()
    }

    /// Watches the file at `path` for as long as the subscription lives.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        path: &Path,
        file_name: &FileName,
    ) -> io::Result<Subscription> {
        let mut watches = self.watches.lock();
        let watch = inotify::add_watch(&self.descriptor, path, FILE_EVENTS)?;
        let wake = Arc::new(Notify::new());
        let waiter = Waiter {
            file_name: file_name.clone(),
            wake: wake.clone(),
        };
        watches.files.entry(watch).or_default().push(waiter);
        Ok(Subscription {
            watcher: self.clone(),
            watch,
            wake,
        })
    }

    /// The events, to be read by one task of the current runtime.
    #[expect(
        deprecated,
        reason = "its replacement is the same call as an unsafe function, which this workspace \
                  forbids; what it demands is kept by `Descriptor`"
    )]
    pub(crate) fn events(self: &Arc<Self>) -> io::Result<Events> {
        Ok(Events(AsyncFd::with_interest(
            Descriptor(self.clone()),
            Interest::READABLE,
        )?))
    }

    /// Reads events, at most one buffer full. Wakes waiters and returns changes that may concern holds.
    fn read(&self) -> io::Result<Vec<Change>> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        let mut changes = Vec::new();
        let mut watches = self.watches.lock();
        loop {
            changes.extend(watches.apply(&reader.next()?));
            if reader.is_buffer_empty() {
                return Ok(changes);
            }
        }
    }

    /// The kernel has removed the watch itself if its file is gone.
    fn remove(&self, watch: i32) {
        let removed = inotify::remove_watch(&self.descriptor, watch);
        debug_assert!(matches!(removed, Ok(()) | Err(Errno::INVAL)), "{removed:?}");
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher")
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}

impl Watches {
    fn apply(&mut self, event: &Event<'_>) -> Option<Change> {
        if let Some(waiters) = self.files.get(&event.wd()) {
            waiters.iter().for_each(|waiter| waiter.wake.notify_one());
            return None;
        }
        let all = self.files.values().flatten();
        if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            all.for_each(|waiter| waiter.wake.notify_one());
            return Some(Change::Anything);
        }
        if self.directory != Some(event.wd()) {
            // The last event of a watch that was removed.
            return None;
        }
        if event.events().contains(ReadFlags::IGNORED) {
            self.directory = None;
        }
        let Some(file_name) = event.file_name() else {
            all.for_each(|waiter| waiter.wake.notify_one());
            return Some(Change::Anything);
        };
        // A name that is not UTF-8 is not a lock file's.
        let file_name = FileName::from_directory(file_name.to_str().ok()?);
        all.filter(|waiter| waiter.file_name == file_name)
            .for_each(|waiter| waiter.wake.notify_one());
        Some(Change::File(file_name))
    }
}

/// A watched file; dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct Subscription {
    watcher: Arc<Watcher>,
    watch: i32,
    wake: Arc<Notify>,
}

impl Subscription {
    /// Ends when the file may be free, removed or replaced, also if that was before the call.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut watches = self.watcher.watches.lock();
        let Some(waiters) = watches.files.get_mut(&self.watch) else {
            return;
        };
        waiters.retain(|waiter| !Arc::ptr_eq(&waiter.wake, &self.wake));
        if waiters.is_empty() {
            watches.files.remove(&self.watch);
            self.watcher.remove(self.watch);
        }
    }
}

/// The events of a watcher, on one runtime.
pub(crate) struct Events(AsyncFd<Descriptor>);

impl Events {
    /// Waits for events and reads some. Wakes waiters and returns changes that may concern holds.
    ///
    /// # Cancel safety
    ///
    /// Safe: what has been read has been returned.
    pub(crate) async fn next(&mut self) -> io::Result<Vec<Change>> {
        loop {
            let mut ready = self.0.readable().await?;
            if let Ok(read) = ready.try_io(|watched| watched.get_ref().0.read()) {
                return read;
            }
        }
    }
}

/// Keeps the descriptor open, and the same one, for as long as it is registered with a runtime. The watcher owns
/// it, never replaces it, and closes it only when the last reference is gone.
struct Descriptor(Arc<Watcher>);

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.descriptor.as_raw_fd()
    }
}

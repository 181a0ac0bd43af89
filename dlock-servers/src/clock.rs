//! A server's clock that a test sets: libfaketime's.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;

/// The path of the library on Debian and its like; `cargo xtask setup` has the same path.
const LIBRARY: &str = "/usr/lib/{arch}-linux-gnu/faketime/libfaketime.so.1";

/// The directory of what the library shares between a process and its children.
const SHARED: &str = "/dev/shm";

/// Removes what the library made for the process with this id, which has ended. One that is killed leaves it.
pub(super) fn clear_up(process: u32) {
    for name in ["faketime_shm_", "sem.faketime_sem_"] {
        // Not there after an orderly end.
        let _ = fs::remove_file(Path::new(SHARED).join(format!("{name}{process}")));
    }
}

/// The clock of the servers that are started with it: the true time, until it is set. Clones are the
/// same clock.
///
/// It is the wall's clock; what a server measures by the other one, such as time-outs, goes on.
#[derive(Clone, Debug)]
pub struct SetClock {
    directory: Arc<TempDir>,
}

impl SetClock {
    /// Shows the true time.
    ///
    /// # Errors
    ///
    /// When libfaketime is not there, or the file of the clock cannot be written.
    pub fn new() -> io::Result<Self> {
        Self::library().map_err(io::Error::other)?;
        let directory = Arc::new(TempDir::new()?);
        let clock = Self { directory };
        clock.set(0)?;
        Ok(clock)
    }

    /// The library that it needs.
    ///
    /// # Errors
    ///
    /// Why there can be no such clock, in a line.
    pub fn library() -> Result<PathBuf, String> {
        let path = PathBuf::from(LIBRARY.replace("{arch}", std::env::consts::ARCH));
        if path.is_file() {
            return Ok(path);
        }
        Err("libfaketime is not installed; cargo xtask setup gets it".to_owned())
    }

    /// Sets it to this many seconds off the true time. A server that runs sees it within
    /// about a second.
    ///
    /// # Errors
    ///
    /// When its file cannot be written.
    pub fn set(&self, seconds: i64) -> io::Result<()> {
        // Replaced as a whole: a server may be reading it.
        let new = self.directory.path().join("new");
        fs::write(&new, format!("{seconds:+}\n"))?;
        fs::rename(&new, self.file())
    }

    /// The words before a command line that put it under this clock.
    pub(super) fn words(&self) -> Result<Vec<OsString>, String> {
        let library = Self::library()?;
        let variables = [
            // With libc's malloc: a server's own reads the time before the library is ready.
            format!("LD_PRELOAD={}:libc.so.6", library.display()),
            format!("FAKETIME_TIMESTAMP_FILE={}", self.file().display()),
            // In seconds: a server reads the time thousands of times a second.
            "FAKETIME_CACHE_DURATION=1".to_owned(),
            // What is set is the wall's clock.
            "DONT_FAKE_MONOTONIC=1".to_owned(),
            // Else waits by the other clock end at once, and servers wait so in loops.
            "FAKETIME_FORCE_MONOTONIC_FIX=0".to_owned(),
        ];
        let words = variables.into_iter().map(OsString::from);
        Ok(std::iter::once("env".into()).chain(words).collect())
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("clock")
    }
}

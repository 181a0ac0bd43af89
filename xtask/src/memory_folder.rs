//! A folder in memory for the data of the tests' servers: a busy disk delays their elections by seconds.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rustix::fs::{StatVfsMountFlags, statvfs};

/// Where Linux has a file system in memory.
const MEMORY: &str = "/dev/shm";

/// The servers of all tests that run at once have room there.
const FREE_MIN: u64 = 8 << 30;

/// The folder, for one run at a time.
pub(crate) struct MemoryFolder {
    path: PathBuf,
    /// Locked while this lives; the kernel unlocks it when the process dies.
    _lock: File,
}

impl MemoryFolder {
    /// Empties the folder of what an interrupted run left. `None` where memory has no room, where programs may not be
    /// started from there, and while another run has the folder.
    pub(crate) fn open() -> Option<Self> {
        Self::open_in(Path::new(MEMORY)).ok().flatten()
    }

    fn open_in(memory: &Path) -> io::Result<Option<Self>> {
        let limits = statvfs(memory)?;
        let free = limits.f_bavail.saturating_mul(limits.f_frsize);
        if free < FREE_MIN || limits.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            return Ok(None);
        }
        let user = rustix::process::getuid().as_raw();
        let lock = File::create(memory.join(format!("dlock-tests-{user}.lock")))?;
        if lock.try_lock().is_err() {
            return Ok(None);
        }
        let path = memory.join(format!("dlock-tests-{user}"));
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        fs::create_dir(&path)?;
        Ok(Some(Self { path, _lock: lock }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryFolder {
    fn drop(&mut self) {
        // The next run empties it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_has_the_folder_and_it_begins_empty() {
        let memory = tempfile::tempdir().expect("a folder");
        let Some(first) = MemoryFolder::open_in(memory.path()).expect("readable") else {
            return;
        };
        let path = first.path().to_owned();
        assert!(
            MemoryFolder::open_in(memory.path())
                .expect("readable")
                .is_none()
        );
        drop(first);
        assert!(!path.exists());
        // As after an interrupted run.
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join("left"), "").expect("a file");
        let second = MemoryFolder::open_in(memory.path()).expect("readable");
        assert!(second.is_some());
        assert!(!path.join("left").exists());
    }
}

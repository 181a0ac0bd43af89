//! `file`: a directory of this machine. There is no server and no network, so workers and files are what can fail.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_verify::{
    chaos::{Fault, Site, Target, client_side},
    support::Outcome,
};
use tempfile::TempDir;
use tokio::{process::Command, time::sleep};

use super::store::{Started, Store, connect, worker};

/// The directory of the locks, in one that outlives its removal.
const LOCKS: &str = "locks";

/// The end of the names of lock files.
const SUFFIX: &str = ".lock";

/// How often files are removed while the fault lasts.
const EVERY: Duration = Duration::from_millis(100);

/// How often a directory that dlock has made in its place is put aside.
const PUT_BACK_MAX: u32 = 100;

/// A waiter that lost an event checks by itself within this.
const CHECK_MAX: Duration = Duration::from_secs(1);

pub(super) struct File;

#[async_trait]
impl Store for File {
    fn name(&self) -> &'static str {
        "file"
    }

    async fn start(&self) -> Outcome<Started> {
        let parent = TempDir::new()?;
        let locks = parent.path().join(LOCKS);
        fs::create_dir(&locks)?;
        let directory = Arc::new(Directory {
            locks,
            _parent: parent,
        });
        Ok(Started {
            target: directory,
            logs: Vec::new(),
        })
    }
}

/// A directory of locks.
struct Directory {
    locks: PathBuf,
    _parent: TempDir,
}

#[async_trait]
impl Target for Directory {
    fn store(&self) -> &str {
        "file"
    }

    fn servers(&self) -> Vec<SocketAddr> {
        Vec::new()
    }

    fn url(&self, _: &[SocketAddr]) -> String {
        format!("file:{}", self.locks.display())
    }

    async fn connect(&self, url: &str) -> Result<Locker> {
        connect(url.to_owned()).await
    }

    fn worker(&self) -> Outcome<Command> {
        worker()
    }

    fn faults(&self) -> Vec<Arc<dyn Fault>> {
        let mut faults = client_side(false);
        let locks = &self.locks;
        faults.push(Arc::new(Unlinked(locks.clone())));
        faults.push(Arc::new(Renamed(locks.clone())));
        faults
    }

    fn heal_max(&self) -> Duration {
        CHECK_MAX
    }
}

/// Lock files are removed.
struct Unlinked(PathBuf);

#[async_trait]
impl Fault for Unlinked {
    fn id(&self) -> &'static str {
        "file-unlinked"
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let times = site.length.as_millis() / EVERY.as_millis() + 1;
        for _ in 0..times {
            for file in lock_files(&self.0)? {
                fs::remove_file(file)?;
            }
            sleep(EVERY).await;
        }
        Ok(0)
    }
}

/// The directory gets another name, and its own one back.
struct Renamed(PathBuf);

#[async_trait]
impl Fault for Renamed {
    fn id(&self) -> &'static str {
        "directory-renamed"
    }

    fn alone(&self) -> bool {
        true
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let other = self.0.with_extension("renamed");
        fs::rename(&self.0, &other)?;
        site.last().await;
        put_back(&other, &self.0)?;
        Ok(0)
    }
}

/// Gives `from` its own name back. dlock makes a new directory of this name whenever there is none.
fn put_back(from: &Path, to: &Path) -> io::Result<()> {
    let parent = to.parent().unwrap_or(to);
    for _ in 0..PUT_BACK_MAX {
        if fs::rename(from, to).is_ok() {
            return Ok(());
        }
        // An empty directory is replaced.
        fs::rename(to, TempDir::new_in(parent)?.keep())?;
    }
    fs::rename(from, to)
}

fn lock_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let files = fs::read_dir(directory)?;
    let files = files
        .map(|file| Ok(file?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    let is_lock = |file: &PathBuf| file.to_string_lossy().ends_with(SUFFIX);
    Ok(files.into_iter().filter(is_lock).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_gets_its_name_back_each_time() {
        let parent = TempDir::new().expect("a directory");
        let (locks, other) = (parent.path().join(LOCKS), parent.path().join("other"));
        fs::create_dir(&locks).expect("a directory");
        fs::write(locks.join("own"), "").expect("a file");
        for _ in 0..2 {
            fs::rename(&locks, &other).expect("another name");
            fs::create_dir(&locks).expect("a directory in its place");
            fs::write(locks.join("a.lock"), "").expect("a file");
            put_back(&other, &locks).expect("its name");
            assert!(locks.join("own").exists());
        }
    }
}

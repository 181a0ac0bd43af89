//! Files: the system's own lock.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use dlock_core::{Error, ErrorKind, Result, backend::async_trait, config::BackendUrl};
use dlock_file::FileConfig;

use super::floor::{Cycle, Floor, NewName, Server};

/// Opens, locks and closes a file of the directory that the locks are in.
pub(crate) struct FileFloor {
    directory: PathBuf,
}

impl FileFloor {
    pub(crate) fn open(url: &BackendUrl) -> Result<Self> {
        let config = match url.path() {
            "" => FileConfig::of_user()?,
            path => FileConfig::new(path),
        };
        let directory = config.directory().to_owned();
        Ok(Self { directory })
    }
}

#[async_trait]
impl Floor for FileFloor {
    fn what(&self) -> &'static str {
        "open, flock and close"
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        let path = path_of(&self.directory, name);
        Box::new(FileTask { path })
    }

    fn new_names(&self) -> Box<dyn NewName> {
        let directory = self.directory.clone();
        Box::new(FileNewName { directory })
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = path_of(&self.directory, name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    fn server(&self) -> Option<&dyn Server> {
        None
    }
}

/// A task and its file, which is removed with it.
struct FileTask {
    path: PathBuf,
}

#[async_trait]
impl Cycle for FileTask {
    async fn cycle(&mut self) -> Result<()> {
        lock_and_close(&self.path).map_err(|error| failed("lock", &self.path, error))
    }
}

/// A task whose files stay, as those of dlock do.
struct FileNewName {
    directory: PathBuf,
}

#[async_trait]
impl NewName for FileNewName {
    async fn cycle(&mut self, name: &str) -> Result<()> {
        let path = path_of(&self.directory, name);
        lock_and_close(&path).map_err(|error| failed("lock", &path, error))
    }
}

/// The file of a name. Lock files end with `.lock`: none of them has this path.
fn path_of(directory: &Path, name: &str) -> PathBuf {
    directory.join(name.replace('/', "-"))
}

fn lock_and_close(path: &Path) -> io::Result<()> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?
        .lock()
}

impl Drop for FileTask {
    fn drop(&mut self) {
        // It is not there if the task never ran.
        let _ = fs::remove_file(&self.path);
    }
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    let why = format!("cannot {what} {}", path.display());
    Error::new(ErrorKind::Unavailable, why).with_source(error)
}

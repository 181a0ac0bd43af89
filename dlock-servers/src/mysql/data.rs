//! The data of a new server.
//!
//! A server takes seconds to make its own tables. So they are made once for all that run at the same time, and copied.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Weak},
};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::{process::Command, sync::Mutex, task::spawn_blocking};

use super::{
    Flavour,
    options::{DATA, common},
};
use crate::{Program, copy_directory};

/// The file with the identity of a MySQL server, which makes one for itself if it is missing.
const IDENTITY: &str = "auto.cnf";

/// Data that were made, for as long as a server has a copy of them.
static MADE: [Mutex<Weak<Original>>; Flavour::ALL.len()] =
    [const { Mutex::const_new(Weak::new()) }; Flavour::ALL.len()];

/// The data from which servers have theirs. They are removed when this is dropped.
#[derive(Debug)]
pub(super) struct Original(TempDir);

impl Original {
    /// Copies the data of a new server to `directory`; makes them first if no server has some.
    pub(super) async fn copy_to(
        directory: &Path,
        flavour: Flavour,
        program: &Program,
    ) -> io::Result<Arc<Self>> {
        let original = Self::of(flavour, program).await?;
        let (from, to) = (original.data(), directory.join(DATA));
        spawn_blocking(move || copy_directory(&from, &to, &[IDENTITY]))
            .await
            .map_err(io::Error::other)??;
        Ok(original)
    }

    async fn of(flavour: Flavour, program: &Program) -> io::Result<Arc<Self>> {
        // Others wait until it is made.
        let mut made = MADE[flavour as usize].lock().await;
        if let Some(original) = made.upgrade() {
            return Ok(original);
        }
        let directory = TempDir::new()?;
        make(flavour, program, directory.path()).await?;
        let original = Arc::new(Self(directory));
        *made = Arc::downgrade(&original);
        Ok(original)
    }

    fn data(&self) -> PathBuf {
        self.0.path().join(DATA)
    }
}

/// A group of processes that is killed with this: a script starts the server as a child of its own.
struct Group(Option<Pid>);

impl Group {
    fn of(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok());
        Self(leader.and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // All of them may have ended.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Makes the server's own tables.
async fn make(flavour: Flavour, program: &Program, directory: &Path) -> io::Result<()> {
    let arguments = common(flavour, program, directory);
    let (mut words, more): (Vec<OsString>, &[&str]) = match flavour {
        Flavour::MariaDbStable => (
            vec!["mariadb-install-db".into()],
            &["--auth-root-authentication-method=normal", "--skip-test-db"],
        ),
        Flavour::MySqlNewest => (program.words().to_vec(), &["--initialize-insecure"]),
    };
    words.extend(arguments);
    words.extend(more.iter().map(OsString::from));
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let child = command.spawn()?;
    let mut group = Group::of(child.id());
    let output = child.wait_with_output().await?;
    group.0 = None;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Err(io::Error::other(format!("no data for a server: {said}")))
}

//! Statements to a server as its administrator.

use std::{io, path::PathBuf, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// A connection to the server that faults and certificates do not affect.
#[derive(Debug)]
pub(super) struct Admin {
    pub(super) socket: PathBuf,
}

impl Admin {
    /// Runs statements and reads the rows of all their results, as text.
    pub(super) async fn query(&self, sql: &str) -> io::Result<Vec<Vec<String>>> {
        let mut client = Command::new("mariadb");
        client
            .args([
                "--no-defaults",
                "--user=root",
                "--batch",
                "--skip-column-names",
            ])
            .arg("--socket")
            .arg(&self.socket)
            .args(["--execute", sql])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = timeout(ANSWER_MAX, client.output()).await??;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(said.trim().to_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let columns = |line: &str| line.split('\t').map(str::to_owned).collect();
        Ok(text.lines().map(columns).collect())
    }
}

//! `dlock run` on a quorum whose tokens have no order.

use dlock_servers::etcd;
use dlock_verify::{
    ensure,
    support::{Outcome, if_available},
};
use libtest_mimic::Trial;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{server::Server, support::trial};

pub(crate) fn trials() -> Vec<Trial> {
    let name = "quorum::a_command_gets_no_token_without_an_order";
    let trials = vec![trial(name, no_token)];
    if_available(etcd::Node::NAME, <etcd::Node as Server>::find(), trials)
}

async fn no_token() -> Outcome {
    let (server, a, b) = (
        <etcd::Node as Server>::start().await?,
        TempDir::new()?,
        TempDir::new()?,
    );
    let [a, b] = [a.path().display(), b.path().display()];
    let address = server.address();
    let unfenced = format!("quorum:?1=etcd://{address}&2=file:{a}&3=file:{b}&node_timeout=10s");
    let fenced = format!("quorum:?1=file:{a}/1&2=file:{a}/2&3=file:{b}&node_timeout=10s");
    for (url, has_token) in [(unfenced, false), (fenced, true)] {
        let script = "echo \"$DLOCK_NAME ${DLOCK_TOKEN-none}\"";
        let output = Command::new(env!("CARGO_BIN_EXE_dlock"))
            .args(["-v", "run", "a", "--url", &url, "--", "sh", "-c", script])
            // That of a lock around it.
            .env("DLOCK_TOKEN", "77")
            .kill_on_drop(true)
            .output()
            .await?;
        ensure!(output.status.success(), "{output:?}");
        let out = String::from_utf8(output.stdout)?;
        let token = out.trim_end().strip_prefix("a ").ok_or("no name")?;
        ensure!((token == "none") != has_token && token != "77", "{out}");
        let err = String::from_utf8(output.stderr)?;
        ensure!(err.contains(", token ") == has_token, "{err}");
    }
    Ok(())
}

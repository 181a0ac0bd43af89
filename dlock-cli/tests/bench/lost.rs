//! A server that goes away in a run: what was measured before stays, and so do the other stores.

use std::time::Duration;

use dlock_bench::data::Run;
use dlock_verify::{
    ensure,
    support::{Outcome, within},
};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::server::{Server, bench_on_terminal};

/// A round ends within this time.
const ROUND_MAX: Duration = Duration::from_secs(60);

/// A run without its server ends within this time.
const END_MAX: Duration = Duration::from_secs(150);

/// Part of the progress when a round has ended and is recorded, as in `4 %  round 1`. No other message begins so.
const ROUND_ENDED: &str = "%  round ";

pub(crate) async fn a_store_that_is_lost_keeps_what_was_measured<S: Server>() -> Outcome {
    let server = S::start().await?;
    let (url, folder) = (server.url(), tempfile::tempdir()?);
    let files = format!("file:{}", folder.path().display());
    let (running, mut screen) = bench_on_terminal(&[&*url, &*files, "--for", "30s", "--json"])?;
    within(ROUND_MAX, "a round", shows(&mut screen, ROUND_ENDED)).await??;
    drop(server);
    // What is not read would block the run.
    let ended = async { tokio::join!(running.wait_with_output(), rest_of(screen)).0 };
    let ended = within(END_MAX, "its end", ended).await??;
    ensure!(ended.status.code() == Some(2), "{ended:?}");
    let run = Run::parse(&String::from_utf8(ended.stdout)?)?;
    let (lost, whole) = (&run.stores[0], &run.stores[1]);
    ensure!(!lost.cycles.is_empty(), "{lost:?}");
    let error = lost.error.as_deref().ok_or("no error")?;
    ensure!(error.starts_with("in round "), "{error}");
    for debug in ["::", "{", "Error("] {
        ensure!(!error.contains(debug), "{error}");
    }
    ensure!(
        whole.error.is_none() && whole.cycles.len() == 2,
        "{whole:?}"
    );
    Ok(())
}

/// Reads until the screen has shown `text`.
async fn shows(screen: &mut (impl AsyncRead + Unpin), text: &str) -> Outcome {
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(text) {
        let ended = screen.read_buf(&mut shown).await.unwrap_or(0) == 0;
        ensure!(!ended, "{}", String::from_utf8_lossy(&shown));
    }
    Ok(())
}

/// Reads until no program is on the terminal, which the system reports as an error.
async fn rest_of(mut screen: impl AsyncRead + Unpin) {
    let _ = tokio::io::copy(&mut screen, &mut tokio::io::sink()).await;
}

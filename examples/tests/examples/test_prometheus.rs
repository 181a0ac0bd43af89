//! The example `with_prometheus`.

use std::future::pending;

use dlock_verify::{ensure, support::Outcome};
use tokio::net::TcpListener;

use crate::{
    http,
    recorded::{kinds, recorder},
    with_prometheus::serve,
};

pub(crate) async fn every_series_is_served() -> Outcome {
    let metrics = recorder()?;
    // No other case of this program uses this store.
    let folder = tempfile::tempdir()?;
    let _locks = dlock::connect(format!("file:{}", folder.path().display())).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { serve(listener, metrics, pending()).await.is_ok() });
    let (status, page) = http::send(address, "GET", "/metrics").await?;
    ensure!(status == "200", "{page}");

    for line in [
        "dlock_held{backend=\"file\"} 0",
        "dlock_lost_total{backend=\"file\",cause=\"session_ended\"} 0",
        "dlock_renewals_total{backend=\"file\",result=\"failed\"} 0",
        "dlock_margin_ratio_bucket{backend=\"file\",le=\"0.3\"} 0",
        "dlock_store_seconds_bucket{backend=\"file\",op=\"renew\",le=\"+Inf\"} 0",
        "dlock_oldest_hold_seconds{backend=\"file\"} 0",
        "dlock_releases_pending{backend=\"file\"} 0",
        "# TYPE dlock_wait_seconds histogram",
    ] {
        ensure!(page.lines().any(|one| one == line), "no {line:?} in {page}");
    }
    for name in kinds().await?.into_keys() {
        let help = format!("# HELP {name} ");
        ensure!(page.contains(&help), "no {help:?} in {page}");
    }
    Ok(())
}

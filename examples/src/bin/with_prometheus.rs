//! dlock's metrics for Prometheus. The recorder comes before the locker, so every series exists from the start, and the
//! histograms have buckets, which the rules and the dashboard in `docs/observability` read.
//!
//! `cargo run -p dlock-examples --bin with_prometheus`, then `curl localhost:9000/metrics`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, future::Future, time::Duration};

use axum::{Router, routing::get};
use dlock::Locker;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::{net::TcpListener, time};

/// From a request to a near store to a hold of an hour.
const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    300.0, 1800.0, 3600.0,
];

/// Parts of the ttl; the alert `DlockMarginLow` is at 0.3.
const RATIO: &[f64] = &[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The samples of histograms are put into their buckets this often, also if no Prometheus reads them.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let metrics = recorder()?;
    let url = std::env::args().nth(1);
    let locks = dlock::connect(url.as_deref().unwrap_or("memory:")).await?;
    let listener = TcpListener::bind("127.0.0.1:9000").await?;
    println!("http://{}/metrics", listener.local_addr()?);
    let stop = async {
        tokio::select! {
            _ = dlock_examples::stop_requested() => {}
            error = work(&locks) => println!("the work has ended: {error}"),
        }
    };
    serve(listener, metrics, stop).await
}

/// Installs the recorder of the whole program.
pub(crate) fn recorder() -> Result<PrometheusHandle, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
        .set_buckets_for_metric(Matcher::Full("dlock_margin_ratio".to_owned()), RATIO)?
        .install_recorder()
}

/// Serves the metrics until `stop` ends.
pub(crate) async fn serve(
    listener: TcpListener,
    metrics: PrometheusHandle,
    stop: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let shown = metrics.clone();
    let page = get(move || async move { shown.render() });
    let app = Router::new().route("/metrics", page);
    tokio::select! {
        served = async { axum::serve(listener, app).await } => served?,
        () = keep_up(&metrics) => {}
        () = stop => {}
    }
    Ok(())
}

async fn keep_up(metrics: &PrometheusHandle) {
    loop {
        time::sleep(UPKEEP_EVERY).await;
        metrics.run_upkeep();
    }
}

/// Something to measure: a job each second, as long as the store serves it.
async fn work(locks: &Locker) -> dlock::Error {
    loop {
        let job = locks.scope("report", async |_| {
            time::sleep(Duration::from_millis(200)).await;
            Ok::<_, dlock::Error>(())
        });
        if let Err(error) = job.await {
            return error;
        }
        time::sleep(Duration::from_secs(1)).await;
    }
}

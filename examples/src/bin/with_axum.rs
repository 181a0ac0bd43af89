//! A service that takes a lock for each request. A lock that is taken is `409 Conflict`, a store that does not answer
//! is `503 Service Unavailable`, and the service ends gracefully.
//!
//! `cargo run -p dlock-examples --bin with_axum`, then `curl -X POST localhost:3000/invoices/acme`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, future::Future, time::Duration};

use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use dlock::{ErrorKind, Locker};
use tokio::net::TcpListener;

/// A request waits no longer for another one of the same customer.
const WAIT: Duration = Duration::from_secs(2);

/// Locks that are still held after the last request are released within this.
const SHUTDOWN_MAX: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = std::env::args().nth(1);
    let locks = dlock::connect(url.as_deref().unwrap_or("memory:")).await?;
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("POST http://{}/invoices/acme", listener.local_addr()?);
    let stop = async {
        if let Err(error) = dlock_examples::stop_requested().await {
            println!("signals cannot be received, so the service ends: {error}");
        }
    };
    serve(listener, locks, stop).await
}

/// Serves until `stop` ends. Then no more requests are accepted, those under way are finished, and the locks are
/// released: in this order, as a request needs its lock until its end.
pub(crate) async fn serve(
    listener: TcpListener,
    locks: Locker,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let app = Router::new()
        .route("/invoices/{customer}", post(send_invoice))
        .with_state(locks.clone());
    axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .await?;
    locks.shutdown(SHUTDOWN_MAX).await?;
    Ok(())
}

/// Sends the invoice of one customer. On all machines only one request of a customer does so at a time.
///
/// axum drops this future when its client is gone. Wherever that happens, the lock is released.
async fn send_invoice(
    State(locks): State<Locker>,
    Path(customer): Path<String>,
) -> Result<String, Refusal> {
    let guard = locks
        .acquire(format!("invoices/{customer}"))
        .wait(WAIT)
        .await?;
    // Dropped at its current await point if the lock is lost.
    let sent = guard.run(async { format!("sent under token {}\n", guard.token()) });
    let text = sent.await?;
    guard.release().await?;
    Ok(text)
}

/// An error of dlock as a response.
struct Refusal(dlock::Error);

impl From<dlock::Error> for Refusal {
    fn from(error: dlock::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = format!("{}\n", self.0);
        match self.0.kind() {
            // Another request of this customer has the lock.
            ErrorKind::Contended => (StatusCode::CONFLICT, text).into_response(),
            // The store does not answer, or the lock was lost on the way: later it may work.
            ErrorKind::Unavailable | ErrorKind::Lost => {
                let retry = [(header::RETRY_AFTER, "5")];
                (StatusCode::SERVICE_UNAVAILABLE, retry, text).into_response()
            }
            // The name is too long, or has a character that names cannot have.
            ErrorKind::InvalidInput => (StatusCode::BAD_REQUEST, text).into_response(),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, text).into_response(),
        }
    }
}

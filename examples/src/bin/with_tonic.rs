//! A gRPC service that takes a lock for each call. The errors of dlock become codes of gRPC, and the service ends
//! gracefully.
//!
//! `cargo run -p dlock-examples --bin with_tonic`; the service is in `examples/proto/invoices.proto`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{error::Error, future::Future, time::Duration};

use dlock::{ErrorKind, Locker};
use tokio::net::TcpListener;
use tonic::{
    Code, Request, Response, Status,
    transport::{Server, server::TcpIncoming},
};

use self::proto::{
    SendReply, SendRequest,
    invoices_server::{Invoices, InvoicesServer},
};

/// The code that tonic makes of the service.
#[expect(
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    reason = "generated code follows rules of its own"
)]
pub(crate) mod proto {
    tonic::include_proto!("invoices");
}

/// A call waits no longer for another one of the same customer.
const WAIT: Duration = Duration::from_secs(2);

/// Locks that are still held after the last call are released within this.
const SHUTDOWN_MAX: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = std::env::args().nth(1);
    let locks = dlock::connect(url.as_deref().unwrap_or("memory:")).await?;
    let listener = TcpListener::bind("127.0.0.1:50051").await?;
    println!("invoices.Invoices at {}", listener.local_addr()?);
    let stop = async {
        if let Err(error) = dlock_examples::stop_requested().await {
            println!("signals cannot be received, so the service ends: {error}");
        }
    };
    serve(listener, locks, stop).await
}

/// Serves until `stop` ends. Then no more calls are accepted, those under way are finished, and the locks are released.
pub(crate) async fn serve(
    listener: TcpListener,
    locks: Locker,
    stop: impl Future<Output = ()>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let service = InvoicesServer::new(Service(locks.clone()));
    Server::builder()
        .add_service(service)
        .serve_with_incoming_shutdown(TcpIncoming::from(listener), stop)
        .await?;
    locks.shutdown(SHUTDOWN_MAX).await?;
    Ok(())
}

struct Service(Locker);

#[tonic::async_trait]
impl Invoices for Service {
    /// tonic drops this future when its client is gone or its deadline has passed. The lock is released then.
    async fn send(&self, request: Request<SendRequest>) -> Result<Response<SendReply>, Status> {
        let name = format!("invoices/{}", request.into_inner().customer);
        let guard = self.0.acquire(name).wait(WAIT).await.map_err(status)?;
        // Dropped at its current await point if the lock is lost.
        let sent = guard.run(async { guard.token().get() });
        let token = sent.await.map_err(status)?;
        guard.release().await.map_err(status)?;
        Ok(Response::new(SendReply { token }))
    }
}

/// An error of dlock as a status of gRPC.
fn status(error: dlock::Error) -> Status {
    let code = match error.kind() {
        // Another call has the lock, or it was lost on the way: the caller may begin again.
        ErrorKind::Contended | ErrorKind::Lost => Code::Aborted,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::InvalidInput => Code::InvalidArgument,
        _ => Code::Internal,
    };
    Status::new(code, error.to_string())
}

//! The example `with_axum`.

use std::net::SocketAddr;

use dlock::{Fault, Operation};
use dlock_verify::{
    ensure,
    support::{Outcome, soon, until},
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::{http, store::Store, with_axum::serve};

const PATH: &str = "/invoices/acme";

/// The service under test.
struct Running {
    store: Store,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<bool>,
}

async fn start() -> Outcome<Running> {
    let (store, locks) = Store::new()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel();
    let stopped = async {
        let _ = stopped.await;
    };
    let ended = tokio::spawn(async move { serve(listener, locks, stopped).await.is_ok() });
    Ok(Running {
        store,
        address,
        stop,
        ended,
    })
}

pub(crate) async fn codes() -> Outcome {
    let service = start().await?;
    let post = async |path: &str| http::send(service.address, "POST", path).await;
    let (status, text) = post(PATH).await?;
    ensure!(status == "200" && text.contains("under token 1"), "{text}");

    let taken = service.store.take().await?;
    let (status, text) = post(PATH).await?;
    ensure!(status == "409", "{text}");
    taken.release().await?;

    let memory = &service.store.memory;
    memory.inject(Operation::Acquire, Fault::LoseRequest);
    let (status, text) = post(PATH).await?;
    ensure!(status == "503" && text.contains("retry-after: 5"), "{text}");
    memory.clear_faults();

    let (status, text) = post(&format!("/invoices/{}", "x".repeat(2_000))).await?;
    ensure!(status == "400", "{text}");
    let (status, text) = post(PATH).await?;
    ensure!(status == "200", "{text}");
    Ok(())
}

pub(crate) async fn graceful_shutdown() -> Outcome {
    let service = start().await?;
    let taken = service.store.take().await?;
    let address = service.address;
    let waiting = tokio::spawn(async move { http::send(address, "POST", PATH).await });
    service.store.until_waited_for().await?;
    service.stop.send(()).map_err(|()| "it has ended")?;
    until("no request is accepted", async || {
        Ok(http::begin(address, "POST", PATH).await.is_err())
    })
    .await?;
    taken.release().await?;

    let (status, text) = soon("the response", waiting).await???;
    ensure!(status == "200", "{text}");
    let is_well = soon("the end", service.ended).await??;
    ensure!(is_well, "the service failed");
    ensure!(service.store.memory.names().is_empty(), "a lock is left");
    Ok(())
}

pub(crate) async fn client_that_is_gone() -> Outcome {
    let service = start().await?;
    let taken = service.store.take().await?;
    let client = http::begin(service.address, "POST", PATH).await?;
    service.store.until_waited_for().await?;
    drop(client);
    until("the request is dropped", async || {
        service.store.shares().await
    })
    .await?;
    taken.release().await?;
    service.store.until_unused().await
}

//! The example `with_tonic`.

use dlock::{Fault, Operation};
use dlock_verify::{
    ensure,
    support::{Outcome, soon},
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use tonic::{Code, transport::Channel};

use crate::{
    store::Store,
    with_tonic::{
        proto::{SendRequest, invoices_client::InvoicesClient},
        serve,
    },
};

/// The service under test, and a client of it.
struct Running {
    store: Store,
    client: InvoicesClient<Channel>,
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
    let client = InvoicesClient::connect(format!("http://{address}")).await?;
    Ok(Running {
        store,
        client,
        stop,
        ended,
    })
}

/// Sends the invoice of a customer; the token, or the code of the failure.
async fn send(client: &InvoicesClient<Channel>, customer: &str) -> Result<u64, Code> {
    let customer = customer.to_owned();
    let reply = client.clone().send(SendRequest { customer }).await;
    reply
        .map(|reply| reply.into_inner().token)
        .map_err(|status| status.code())
}

pub(crate) async fn codes() -> Outcome {
    let service = start().await?;
    let client = &service.client;
    let sent = send(client, "acme").await;
    ensure!(sent == Ok(1), "{sent:?}");

    let taken = service.store.take().await?;
    let refused = send(client, "acme").await;
    ensure!(refused == Err(Code::Aborted), "{refused:?}");
    taken.release().await?;

    let memory = &service.store.memory;
    memory.inject(Operation::Acquire, Fault::LoseRequest);
    let refused = send(client, "acme").await;
    ensure!(refused == Err(Code::Unavailable), "{refused:?}");
    memory.clear_faults();

    let refused = send(client, &"x".repeat(2_000)).await;
    ensure!(refused == Err(Code::InvalidArgument), "{refused:?}");
    let sent = send(client, "acme").await;
    ensure!(sent.is_ok(), "{sent:?}");
    Ok(())
}

pub(crate) async fn graceful_shutdown() -> Outcome {
    let service = start().await?;
    let taken = service.store.take().await?;
    let client = service.client.clone();
    let waiting = tokio::spawn(async move { send(&client, "acme").await });
    service.store.until_waited_for().await?;
    service.stop.send(()).map_err(|()| "it has ended")?;
    taken.release().await?;

    let sent = soon("the reply", waiting).await??;
    ensure!(sent.is_ok(), "{sent:?}");
    drop(service.client);
    let is_well = soon("the end", service.ended).await??;
    ensure!(is_well, "the service failed");
    ensure!(service.store.memory.names().is_empty(), "a lock is left");
    Ok(())
}

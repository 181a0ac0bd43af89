//! A server that is full (T34).

use conformance_tests::servers::etcd::{Flavour, Login};
use dlock::ErrorKind;

use crate::kit::{Outcome, cases, connect, refused, start_with, take};

cases![t34_a_full_server_says_so_and_holders_go_on];

async fn t34_a_full_server_says_so_and_holders_go_on(flavour: Flavour) -> Outcome {
    let quota = ["--quota-backend-bytes=2097152"];
    let node = start_with(flavour, Login::Open, &quota).await?;
    let locker = connect(node.address(), "ttl=3s").await?;
    let guard = take(&locker, "a").await?;
    let much = "x".repeat(100_000);
    for at in 0..100 {
        if node.put(&format!("fill-{at}"), &much).await.is_err() {
            break;
        }
    }
    let error = refused(locker.try_acquire("b").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("no space left"), "{error}");
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    guard.renew().await?;
    Ok(guard.release().await?)
}

//! Passwords and certificates that are replaced while a locker runs: no restart is needed.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dlock::{ErrorKind, Locker};
use dlock_servers::{
    Certificates,
    etcd::{Flavour, Login, Node, Options, Tls},
};
use dlock_verify::proxy::{End, Proxy};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    support::{Outcome, cases, refused, start_with, take, until},
    users::add_user,
};

cases![
    a_new_password_is_read_for_the_next_connection,
    a_new_certificate_is_read_for_the_next_connection,
];

/// A background task may have read the old file for a connection that it makes just now. Acquires share its failure.
async fn until_taken(locker: &Locker) -> Outcome {
    until("the new file is in use", async || {
        match locker.try_acquire("a").await {
            Ok(Some(guard)) => Ok(guard.release().await.map(|()| true)?),
            _ => Ok(false),
        }
    })
    .await
}

async fn a_new_password_is_read_for_the_next_connection(flavour: Flavour) -> Outcome {
    let node = start_with(flavour, Login::Root("secret".to_owned()), &[]).await?;
    // dlock/ to dlock0
    add_user(&node, ["ZGxvY2sv", "ZGxvY2sw"]).await?;
    let proxy = Proxy::start(node.address())?;
    let directory = TempDir::new()?;
    let file = directory.path().join("password");
    fs::write(&file, "p\n")?;
    let (address, path) = (proxy.address(), file.display());
    let url = format!("etcd://{address}?ttl=120s&user=app&password_file={path}");
    let locker = dlock::connect(url.as_str()).await?;
    let held = take(&locker, "held").await?;
    let change = json!({"name": "app", "password": "s3cret-2"});
    node.call("/v3/auth/user/changepw", &change).await?;
    proxy.end(End::Reset);
    // The server has the new password, the file still the old one.
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    fs::write(&file, "s3cret-2\n")?;
    until_taken(&locker).await?;
    held.renew().await?;
    held.release().await?;
    Ok(())
}

/// The member gets another certificate, of another authority: a second member takes its place at the same address.
async fn a_new_certificate_is_read_for_the_next_connection(flavour: Flavour) -> Outcome {
    let options = Options {
        tls: Tls::On,
        ..Options::default()
    };
    let program = flavour.find()?;
    let nodes = [
        Node::start(&program, &options).await?,
        Node::start(&program, &options).await?,
    ];
    let ca = |node: &Node| node.certificates().map(Certificates::ca);
    let (before, after) = (ca(&nodes[0]), ca(&nodes[1]));
    let (before, after) = before.zip(after).ok_or("no certificates")?;
    let addresses = nodes.each_ref().map(Node::address);
    let is_replaced = Arc::new(AtomicBool::new(false));
    let route = is_replaced.clone();
    let proxy = Proxy::switch(move |_| {
        let node = usize::from(route.load(Ordering::Acquire));
        Some(addresses[node])
    })?;
    let directory = TempDir::new()?;
    let file = directory.path().join("ca.pem");
    fs::copy(before, &file)?;
    let (address, path) = (proxy.address(), file.display());
    let url = format!("etcds://{address}?ttl=120s&tls_ca={path}");
    let locker = dlock::connect(url.as_str()).await?;
    take(&locker, "a").await?.release().await?;
    is_replaced.store(true, Ordering::Release);
    proxy.end(End::Reset);
    let mut error = refused(locker.try_acquire("a").await)?;
    if error.kind() == ErrorKind::Unavailable {
        // After a failed connection the driver may hold one request until its time is over.
        error = refused(locker.try_acquire("a").await)?;
    }
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    fs::copy(after, &file)?;
    until_taken(&locker).await?;
    Ok(())
}

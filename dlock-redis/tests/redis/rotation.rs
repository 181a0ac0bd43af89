//! Passwords and certificates that are replaced while a locker runs: no restart is needed.

use std::fs;

use dlock::ErrorKind;
use dlock_servers::{
    Certificates, Program,
    redis::{Node, Options, Tls},
};
use tempfile::TempDir;

use crate::support::{Outcome, cases, connect, refused, start, take, until_clean};

cases![
    a_new_password_is_read_for_the_next_connection,
    a_new_certificate_is_read_for_the_next_connection,
];

/// Lets the user `app` log in with this password alone. Connections that are logged in stay.
async fn set_password(node: &Node, password: &str) -> Outcome {
    let password = format!(">{password}");
    let words = [
        "ACL",
        "SETUSER",
        "app",
        "on",
        "resetpass",
        &password,
        "~*",
        "&*",
        "+@all",
    ];
    node.command(&words).await?;
    Ok(())
}

async fn a_new_password_is_read_for_the_next_connection(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    set_password(&node, "s3cret-1").await?;
    let directory = TempDir::new()?;
    let file = directory.path().join("password");
    fs::write(&file, "s3cret-1\n")?;
    let keys = format!("user=app&password_file={}", file.display());
    let locker = connect(node.address(), &keys).await?;
    let held = take(&locker, "held").await?;
    set_password(&node, "s3cret-2").await?;
    node.command(&["CLIENT", "KILL", "USER", "app"]).await?;
    // The server has the new password, the file still the old one.
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    fs::write(&file, "s3cret-2\n")?;
    take(&locker, "a").await?.release().await?;
    held.renew().await?;
    held.release().await?;
    until_clean(&node).await
}

async fn a_new_certificate_is_read_for_the_next_connection(program: Program) -> Outcome {
    let options = Options {
        tls: Tls::On,
        ..Options::default()
    };
    let node = Node::start(&program, &options).await?;
    let (right, other) = (
        node.certificates().ok_or("no certificates")?.ca(),
        Certificates::generate()?,
    );
    let directory = TempDir::new()?;
    let file = directory.path().join("ca.pem");
    fs::copy(&right, &file)?;
    let (address, ca) = (node.address(), file.display());
    let url = format!("rediss://{address}?restart_guard=0s&ttl=120s&tls_ca={ca}");
    let locker = dlock::connect(url.as_str()).await?;
    let held = take(&locker, "held").await?;
    fs::copy(other.ca(), &file)?;
    node.command(&["CLIENT", "KILL", "TYPE", "normal"]).await?;
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    fs::copy(&right, &file)?;
    take(&locker, "a").await?.release().await?;
    held.renew().await?;
    held.release().await?;
    until_clean(&node).await
}

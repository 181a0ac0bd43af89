//! Servers and accounts that will not do: one line that says what to do.

use std::{fs, time::Duration};

use dlock::{ErrorKind, Locker};
use dlock_mysql::{MySqlConfig, MySqlLock, sqlx::mysql::MySqlConnectOptions};
use dlock_servers::mysql::{Flavour, Node, Options};
use dlock_verify::proxy::{End, Proxy};
use tempfile::TempDir;

use crate::support::{Outcome, TTL_LONG, cases, open, open_with, start, take, until};

cases![
    wrong_urls_say_what_to_do,
    settings_in_code_and_of_the_driver_connect,
    an_account_without_privileges_says_which,
    another_engine_is_refused,
    a_log_that_cannot_have_it_is_refused,
    a_server_without_connections_says_so,
    the_socket_of_the_server_will_do,
    tls_as_the_client_has_it,
    a_new_password_is_read_for_the_next_connection,
];

/// The file needs no restart when it is replaced.
async fn a_new_password_is_read_for_the_next_connection(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let directory = TempDir::new()?;
    let file = directory.path().join("password");
    fs::write(&file, "hunter2\n")?;
    let url = node.url_at(proxy.address()).replace(":hunter2@", "@");
    let keys = format!("restart_guard=0s&ttl=120s&password_file={}", file.display());
    let locker = open_with(&url, &keys).await?;
    take(&locker, "a").await?.release().await?;
    node.query("ALTER USER app IDENTIFIED BY 's3cret-2'")
        .await?;
    proxy.end(End::Reset);
    until("the old password is refused", async || {
        let error = locker.try_acquire("a").await.err();
        Ok(error.is_some_and(|error| error.kind() == ErrorKind::Denied))
    })
    .await?;
    fs::write(&file, "s3cret-2\n")?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn refused(url: &str, kind: ErrorKind, words: &str) -> Outcome {
    let error = open(url, TTL_LONG).await.err();
    let error = error.ok_or_else(|| format!("{url} is accepted"))?;
    let line = error.to_string();
    assert_eq!(error.kind(), kind, "{line}");
    assert!(line.contains(words), "{line}");
    assert!(!line.contains("hunter2") && !line.contains('\n'), "{line}");
    Ok(())
}

/// Both exclude the client of the URL: they use the same database.
async fn settings_in_code_and_of_the_driver_connect(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let by_url = open(&node.url(), TTL_LONG).await?;
    let options: MySqlConnectOptions = node.url().parse()?;
    let database = options.get_database().ok_or("no database")?.to_owned();
    let in_code = MySqlConfig::new(node.address(), options.get_username(), database);
    let of_driver = MySqlConfig::try_from(options)?;
    for config in [in_code.password("hunter2"), of_driver] {
        let backend = MySqlLock::connect(config.restart_guard(Duration::ZERO)).await?;
        let locker = Locker::builder(backend).ttl(TTL_LONG).build()?;
        let held = take(&by_url, "a").await?;
        assert!(locker.try_acquire("a").await?.is_none());
        held.release().await?;
        take(&locker, "a").await?.release().await?;
    }
    Ok(())
}

async fn wrong_urls_say_what_to_do(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let (url, address) = (node.url(), node.address());
    let wrong = url.replace("hunter2", "wrong");
    refused(&wrong, ErrorKind::Denied, "wrong user or password").await?;
    let (_, database) = url.rsplit_once('/').ok_or("no database")?;
    let other = url.replace(&format!("/{database}"), "/other");
    refused(&other, ErrorKind::Denied, "GRANT").await?;
    node.query("GRANT ALL ON other.* TO app").await?;
    refused(&other, ErrorKind::InvalidConfig, "CREATE DATABASE").await?;
    node.kill()?;
    let line = format!("cannot connect to mysql at {address}: connection refused");
    refused(&url, ErrorKind::Unavailable, &line).await?;
    refused(
        &format!("mysql://{address}/locks"),
        ErrorKind::InvalidConfig,
        "a user is missing",
    )
    .await?;
    refused(
        &format!("mysql://app@{address}"),
        ErrorKind::InvalidConfig,
        "the database",
    )
    .await?;
    refused(
        &format!("{url}?held=3"),
        ErrorKind::InvalidConfig,
        "held_max",
    )
    .await?;
    refused(
        &format!("{url}?tls=maybe"),
        ErrorKind::InvalidConfig,
        "verify_identity",
    )
    .await?;
    refused(
        &format!("{url}?tls_cert=a"),
        ErrorKind::InvalidConfig,
        "tls_key",
    )
    .await
}

/// A user who may do `privileges` on the locks, and its URL.
async fn user(node: &Node, name: &str, privileges: &str) -> Outcome<String> {
    let sql = format!("CREATE USER {name} IDENTIFIED BY 'hunter2'; GRANT {privileges} TO {name}");
    node.query(&sql).await?;
    Ok(node.url().replace("//app:", &format!("//{name}:")))
}

async fn an_account_without_privileges_says_which(flavour: Flavour) -> Outcome {
    let node = Node::start(flavour, &Default::default()).await?;
    let poor = user(&node, "poor", "SELECT, INSERT, UPDATE, DELETE ON locks.*").await?;
    refused(
        &poor,
        ErrorKind::Denied,
        "CREATE TABLE IF NOT EXISTS dlock_locks",
    )
    .await?;
    for statement in dlock_mysql::setup_statements() {
        node.query(&format!("USE locks; {statement}")).await?;
    }
    crate::support::until_granting(&node).await?;
    // It needs no more than that.
    let locker = open(&poor, TTL_LONG).await?;
    let guard = take(&locker, "a").await?;
    assert!(
        locker
            .inspect("a")
            .await?
            .is_some_and(|holder| holder.attempt == Some(guard.id()))
    );
    guard.release().await?;
    let reader = user(&node, "reader", "SELECT ON locks.*").await?;
    let locker = open(&reader, TTL_LONG).await?;
    let error = locker.try_acquire("b").await.err().ok_or("granted")?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("GRANT"), "{error}");
    Ok(())
}

async fn another_engine_is_refused(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query("ALTER TABLE locks.dlock_locks ENGINE=MyISAM")
        .await?;
    refused(&node.url(), ErrorKind::InvalidConfig, "ENGINE=InnoDB").await
}

/// A log of statements has no writes of transactions that are isolated as ours are.
async fn a_log_that_cannot_have_it_is_refused(flavour: Flavour) -> Outcome {
    let arguments = [
        "--server-id=1",
        "--log-bin=log",
        "--binlog-format=STATEMENT",
    ];
    let options = Options {
        arguments: arguments.map(str::to_owned).to_vec(),
        clock: None,
    };
    let node = Node::start(flavour, &options).await?;
    refused(&node.url(), ErrorKind::Unsupported, "binlog_format").await
}

async fn a_server_without_connections_says_so(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query("ALTER USER app WITH MAX_USER_CONNECTIONS 2")
        .await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    let guard = take(&locker, "a").await?;
    refused(&node.url(), ErrorKind::Unavailable, "held_max=").await?;
    let error = locker.try_acquire("b").await.err().ok_or("granted")?;
    assert!(error.to_string().contains("held_max="), "{error}");
    Ok(guard.release().await?)
}

async fn the_socket_of_the_server_will_do(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let socket = node.socket().display();
    let url = format!("mariadb://app:hunter2@localhost/locks?socket={socket}");
    let locker = open(&url, TTL_LONG).await?;
    take(&locker, "a").await?.release().await?;
    let other = url.replace("localhost", "db-1");
    refused(&other, ErrorKind::InvalidConfig, "localhost").await?;
    let encrypted = format!("{url}&tls=required");
    refused(&encrypted, ErrorKind::InvalidConfig, "no TLS").await?;
    let missing = format!("{url}.missing");
    refused(&missing, ErrorKind::Unavailable, "no such socket").await
}

async fn tls_as_the_client_has_it(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let url = |tls: &str| format!("{}?tls={tls}", node.url());
    match flavour {
        Flavour::MySqlNewest => {
            // It makes a certificate of its own when it starts.
            let locker = open(&url("required"), TTL_LONG).await?;
            take(&locker, "a").await?.release().await?;
            refused(&url("verify_ca"), ErrorKind::InvalidConfig, "tls_ca=").await?;
            let ca = node.process().directory().join("data/ca.pem");
            let trusted = format!("{}&tls_ca={}", url("verify_ca"), ca.display());
            let locker = open(&trusted, TTL_LONG).await?;
            take(&locker, "a").await?.release().await?;
            // Forgotten at each start of the server, and after a change of the password.
            node.query("FLUSH PRIVILEGES").await?;
            refused(&url("disabled"), ErrorKind::Denied, "tls=required").await
        }
        _ => refused(&url("required"), ErrorKind::Denied, "the server has no TLS").await,
    }
}

//! Connecting to a wrong server, or in a wrong way: an error of one line, of the right kind, in time.

use std::time::Duration;

use dlock::{Error, ErrorKind, Locker};
use dlock_redis::{
    RedisConfig, RedisLock,
    redis::{Client, RedisResult},
};
use dlock_servers::{
    Port, Program,
    redis::{Login, Node, Options},
};
use tokio::{io::AsyncWriteExt as _, net::TcpListener};

use crate::support::{Outcome, cases, refused, start, warm_up, within};

cases![
    a_wrong_password_is_denied,
    a_missing_password_is_denied,
    a_wrong_user_is_denied,
    a_user_without_permission_is_denied,
    the_right_password_is_let_in,
    settings_in_code_and_of_the_driver_connect,
    a_wrong_port_is_unavailable,
    a_wrong_host_is_unavailable,
    a_server_that_is_down_is_unavailable,
    a_silent_server_is_unavailable_in_time,
    a_server_of_another_kind_is_unavailable,
    a_database_that_is_not_there_is_refused,
    a_database_is_a_place_of_its_own,
];

/// `connect_timeout` of these clients.
const CONNECT: Duration = Duration::from_secs(1);

/// The time by which connecting may take longer on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

async fn connect(url: &str) -> Outcome<dlock::Result<Locker>> {
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{separator}restart_guard=0s&connect_timeout=1s");
    within(CONNECT + SLACK, "an answer", dlock::connect(url.as_str())).await
}

/// The error, which must be of this kind and say this.
async fn fails(url: &str, kind: ErrorKind, says: &str) -> Outcome<Error> {
    let error = refused(connect(url).await?)?;
    let line = error.to_string();
    assert_eq!(error.kind(), kind, "{line}");
    assert!(line.contains(says), "{line}");
    assert!(
        !line.contains("s3cret") && !format!("{error:?}").contains("s3cret"),
        "{error:?}"
    );
    Ok(error)
}

async fn start_for(program: &Program, login: Login, lines: &[&str]) -> Outcome<Node> {
    let options = Options {
        login,
        lines: lines.iter().copied().map(str::to_owned).collect(),
        ..Options::default()
    };
    Ok(Node::start(program, &options).await?)
}

fn password() -> Login {
    Login::Password("right".to_owned())
}

fn user() -> Login {
    Login::User("dlock".to_owned(), "right".to_owned())
}

async fn a_wrong_password_is_denied(program: Program) -> Outcome {
    let node = start_for(&program, password(), &[]).await?;
    let url = format!("redis://:s3cret@{}", node.address());
    fails(&url, ErrorKind::Denied, "wrong user or password").await?;
    Ok(())
}

async fn a_missing_password_is_denied(program: Program) -> Outcome {
    for login in [password(), user()] {
        let node = start_for(&program, login, &[]).await?;
        let url = format!("redis://{}", node.address());
        fails(&url, ErrorKind::Denied, "requires a password").await?;
    }
    Ok(())
}

async fn a_wrong_user_is_denied(program: Program) -> Outcome {
    let node = start_for(&program, user(), &[]).await?;
    for who in ["unknown:s3cret", "unknown:right", "dlock:s3cret", ":s3cret"] {
        let url = format!("redis://{who}@{}", node.address());
        fails(&url, ErrorKind::Denied, "wrong user or password").await?;
    }
    Ok(())
}

async fn a_user_without_permission_is_denied(program: Program) -> Outcome {
    let lines = [
        "user reader on >s3cret ~* &* +@connection +get",
        "user elsewhere on >s3cret ~x:* ~dlock:{all}* &* +@all",
    ];
    let node = start_for(&program, user(), &lines).await?;
    let url = format!("redis://reader:s3cret@{}", node.address());
    fails(&url, ErrorKind::Denied, "extend its ACL").await?;
    let url = format!("redis://elsewhere:s3cret@{}", node.address());
    let elsewhere = connect(&url).await??;
    let error = refused(elsewhere.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("extend its ACL"), "{error}");
    Ok(())
}

async fn the_right_password_is_let_in(program: Program) -> Outcome {
    let node = start_for(&program, password(), &[]).await?;
    warm_up(&connect(&format!("redis://:right@{}", node.address())).await??).await?;
    let node = start_for(&program, user(), &[]).await?;
    warm_up(&connect(&format!("redis://dlock:right@{}", node.address())).await??).await
}

/// Both exclude the client of the URL: they use the same server, database and prefix.
async fn settings_in_code_and_of_the_driver_connect(program: Program) -> Outcome {
    let node = start_for(&program, user(), &[]).await?;
    let url = format!("redis://dlock:right@{}/3", node.address());
    let by_url = connect(&url).await??;
    let in_code = RedisConfig::new(node.address())
        .login("dlock", "right")
        .database(3);
    let client: RedisResult<Client> = Client::open(url.as_str());
    let of_driver = RedisConfig::try_from(client?.get_connection_info().clone())?;
    for config in [in_code, of_driver] {
        let backend = RedisLock::connect(config.restart_guard(Duration::ZERO)).await?;
        let locker = Locker::builder(backend).build()?;
        let held = by_url.acquire("a").await?;
        assert!(locker.try_acquire("a").await?.is_none());
        held.release().await?;
        locker.acquire("a").await?.release().await?;
    }
    Ok(())
}

async fn a_wrong_port_is_unavailable(_: Program) -> Outcome {
    let unused = Port::reserve()?;
    let url = format!("redis://:s3cret@{}", unused.address());
    let line = format!(
        "cannot connect to redis at {}: connection refused",
        unused.address()
    );
    fails(&url, ErrorKind::Unavailable, &line).await?;
    Ok(())
}

async fn a_wrong_host_is_unavailable(_: Program) -> Outcome {
    // Too long for a label, so that no name server is queried.
    let url = format!("redis://:s3cret@{}", "h".repeat(64));
    fails(&url, ErrorKind::Unavailable, "failed to lookup address").await?;
    Ok(())
}

async fn a_server_that_is_down_is_unavailable(program: Program) -> Outcome {
    let mut node = start(&program, &[]).await?;
    let url = format!("redis://{}", node.address());
    warm_up(&connect(&url).await??).await?;
    node.kill()?;
    fails(&url, ErrorKind::Unavailable, "connection refused").await?;
    node.resume().await?;
    warm_up(&connect(&url).await??).await
}

async fn a_silent_server_is_unavailable_in_time(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    node.stop()?;
    let url = format!("redis://{}", node.address());
    fails(&url, ErrorKind::Unavailable, "no answer").await?;
    Ok(())
}

async fn a_server_of_another_kind_is_unavailable(_: Program) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("redis://{}", listener.local_addr()?);
    let server = async {
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await?;
        }
    };
    let answer = async {
        tokio::select! {
            error = fails(&url, ErrorKind::Unavailable, "does not speak Redis's protocol") => error.map(drop),
            ended = server => ended,
        }
    };
    answer.await
}

async fn a_database_that_is_not_there_is_refused(program: Program) -> Outcome {
    let node = start(&program, &["databases 4"]).await?;
    let url = format!("redis://{}/9", node.address());
    fails(&url, ErrorKind::InvalidConfig, "database").await?;
    Ok(())
}

async fn a_database_is_a_place_of_its_own(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let third = connect(&format!("redis://{}/3", node.address())).await??;
    let first = connect(&format!("redis://{}", node.address())).await??;
    let held = third.try_acquire("a").await?.ok_or("taken")?;
    warm_up(&first).await?;
    let other = first.try_acquire("a").await?.ok_or("one server")?;
    other.release().await?;
    held.renew().await?;
    Ok(held.release().await?)
}

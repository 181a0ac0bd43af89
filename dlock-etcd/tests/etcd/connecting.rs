//! Wrong addresses and settings: one line each, which says what to do.

use std::{net::SocketAddr, time::Duration};

use dlock::{ErrorKind, Locker};
use dlock_etcd::{EtcdConfig, EtcdLock};
use dlock_servers::{Port, etcd::Flavour};
use dlock_verify::proxy::{Direction, Fault, Proxy};

use crate::support::{Outcome, cases, connect, connect_all, refused, soon, start, take, within};

cases![
    nothing_listens_says_so,
    a_silent_address_says_so,
    what_is_no_etcd_says_so,
    one_member_of_several_is_enough,
    wrong_settings_are_refused_before_any_io,
    settings_in_code_connect,
];

/// A locker in code excludes the client of the URL: both have the same prefix.
async fn settings_in_code_connect(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let by_url = connect(node.address(), "prefix=team/").await?;
    let config = EtcdConfig::new([node.address()]).prefix("team/");
    let locker = Locker::builder(EtcdLock::connect(config).await?).build()?;
    let held = take(&by_url, "a").await?;
    assert!(locker.try_acquire("a").await?.is_none());
    held.release().await?;
    Ok(take(&locker, "a").await?.release().await?)
}

fn unused(port: &Port) -> SocketAddr {
    port.address()
}

async fn nothing_listens_says_so(_: Flavour) -> Outcome {
    let port = Port::reserve()?;
    let error = refused(soon("an answer", connect(unused(&port), "")).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let line = format!(
        "cannot connect to etcd at {}: connection refused",
        port.address()
    );
    assert!(error.to_string().starts_with(&line), "{error}");
    Ok(())
}

async fn a_silent_address_says_so(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    proxy.set(Direction::ToServer, Fault::Hold);
    let connecting = connect(proxy.address(), "timeout=500ms");
    let error = refused(within(Duration::from_secs(5), "an answer", connecting).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("no answer in 500ms"), "{error}");
    Ok(())
}

async fn what_is_no_etcd_says_so(_: Flavour) -> Outcome {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let speaking = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.writable().await?;
            stream.try_write(b"-ERR unknown command\r\n")?;
        }
        #[expect(unreachable_code, reason = "names the type")]
        std::io::Result::Ok(())
    });
    let error = refused(soon("an answer", connect(address, "timeout=1s")).await?)?;
    speaking.abort();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    Ok(())
}

async fn one_member_of_several_is_enough(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let ports = [Port::reserve()?, Port::reserve()?];
    let addresses = [unused(&ports[0]), node.address(), unused(&ports[1])];
    let locker = connect_all(&addresses, "").await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn wrong_settings_are_refused_before_any_io(_: Flavour) -> Outcome {
    for (url, says) in [
        ("etcd:", "a server is missing"),
        ("etcd://h/3", "path"),
        (
            "etcd://u@h",
            "a login is a user and a password, one is missing",
        ),
        (
            "etcd://h?ttl=500ms",
            "ttl 500ms is out of range (1s to 1day)",
        ),
        ("etcd://h?tls_ca=/x", "unknown key \"tls_ca\""),
        ("etcds://h?tls_cert=/x", "go together"),
        ("etcd://h?prefx=a", "did you mean \"prefix\"?"),
    ] {
        let error = refused(dlock::connect(url).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    Ok(())
}

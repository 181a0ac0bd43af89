//! TLS: with an authority of one's own, with a client's certificate, and the ways to get it wrong.

use std::time::Duration;

use dlock::{Error, ErrorKind, Locker};
use dlock_servers::{
    Certificates, Program,
    redis::{Node, Options, Tls},
};

use crate::support::{
    Outcome, all, cases, refused, soon, start, take, until_clean, until_listeners, warm_up, within,
};

cases![
    tls_works_with_an_authority_of_its_own,
    tls_works_with_a_clients_certificate,
    tls_to_a_plain_port_is_reported,
    no_tls_to_a_tls_port_is_reported,
    an_unknown_authority_is_reported,
    a_missing_client_certificate_is_reported,
    certificates_that_cannot_be_read_say_so,
];

async fn start_tls(program: &Program, tls: Tls) -> Outcome<(Node, Certificates)> {
    let options = Options {
        tls,
        ..Options::default()
    };
    let node = Node::start(program, &options).await?;
    let certificates = node.certificates().ok_or("no certificates")?.clone();
    Ok((node, certificates))
}

async fn connect(scheme: &str, node: &Node, keys: &str) -> Outcome<dlock::Result<Locker>> {
    let address = node.address();
    let url = format!("{scheme}://{address}?restart_guard=0s&connect_timeout=1s{keys}");
    let bound = Duration::from_secs(3);
    within(bound, "an answer", dlock::connect(url.as_str())).await
}

async fn fails(
    scheme: &str,
    node: &Node,
    keys: &str,
    kind: ErrorKind,
    says: &str,
) -> Outcome<Error> {
    let error = refused(connect(scheme, node, keys).await?)?;
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
    Ok(error)
}

fn with_ca(certificates: &Certificates) -> String {
    format!("&{}", certificates.ca_in_url())
}

fn with_client(certificates: &Certificates) -> String {
    format!(
        "&{}&{}",
        certificates.ca_in_url(),
        certificates.client_in_url()
    )
}

/// Everything that goes over a connection: requests, and wake-ups on the other one.
async fn works(node: &Node, keys: &str) -> Outcome {
    let first = connect("rediss", node, keys).await??;
    let second = connect("rediss", node, keys).await??;
    let held = take(&first, "a").await?;
    let waiter = tokio::spawn(second.acquire("a").into_future());
    until_listeners(node, "a", 1).await?;
    held.renew().await?;
    held.release().await?;
    soon("it is woken", waiter).await???.release().await?;
    until_clean(node).await
}

async fn tls_works_with_an_authority_of_its_own(program: Program) -> Outcome {
    let (node, certificates) = start_tls(&program, Tls::On).await?;
    works(&node, &with_ca(&certificates)).await
}

async fn tls_works_with_a_clients_certificate(program: Program) -> Outcome {
    let (node, certificates) = start_tls(&program, Tls::Mutual).await?;
    works(&node, &with_client(&certificates)).await
}

async fn tls_to_a_plain_port_is_reported(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    // What the server does with the first bytes depends on them, and they are random.
    let one = async || {
        let failed = fails("rediss", &node, "", ErrorKind::Unavailable, "TLS");
        failed.await.map(drop)
    };
    all((0..10).map(|_| one())).await
}

async fn no_tls_to_a_tls_port_is_reported(program: Program) -> Outcome {
    for tls in [Tls::On, Tls::Mutual] {
        let (node, _) = start_tls(&program, tls).await?;
        fails(
            "redis",
            &node,
            "",
            ErrorKind::Unavailable,
            "begins with rediss",
        )
        .await?;
    }
    Ok(())
}

async fn an_unknown_authority_is_reported(program: Program) -> Outcome {
    let (node, _) = start_tls(&program, Tls::On).await?;
    fails("rediss", &node, "", ErrorKind::InvalidConfig, "tls_ca=").await?;
    let other = Certificates::generate()?;
    fails(
        "rediss",
        &node,
        &with_ca(&other),
        ErrorKind::InvalidConfig,
        "tls_ca=",
    )
    .await?;
    Ok(())
}

async fn a_missing_client_certificate_is_reported(program: Program) -> Outcome {
    let (node, certificates) = start_tls(&program, Tls::Mutual).await?;
    let ca = with_ca(&certificates);
    fails("rediss", &node, &ca, ErrorKind::Denied, "tls_cert=").await?;
    // One of another authority is none.
    let foreign = Certificates::generate()?;
    let keys = format!("{ca}&{}", foreign.client_in_url());
    fails("rediss", &node, &keys, ErrorKind::Denied, "tls_cert=").await?;
    Ok(())
}

async fn certificates_that_cannot_be_read_say_so(program: Program) -> Outcome {
    let (node, certificates) = start_tls(&program, Tls::On).await?;
    let missing = "&tls_ca=/no/such/file";
    fails(
        "rediss",
        &node,
        missing,
        ErrorKind::InvalidConfig,
        "/no/such/file",
    )
    .await?;
    // A key is no certificate.
    let key = format!("&tls_ca={}", certificates.server_key().display());
    fails(
        "rediss",
        &node,
        &key,
        ErrorKind::InvalidConfig,
        "server.key",
    )
    .await?;
    let (cert, key) = (certificates.client(), certificates.server_key());
    let others = format!("&tls_cert={}&tls_key={}", cert.display(), key.display());
    let kind = ErrorKind::InvalidConfig;
    fails(
        "rediss",
        &node,
        &others,
        kind,
        "is not that of the certificate",
    )
    .await?;
    warm_up(&connect("rediss", &node, &with_ca(&certificates)).await??).await
}

//! TLS: with an authority of one's own, with a client's certificate, and the ways to get it wrong.

use std::time::Duration;

use dlock::{ErrorKind, Locker};
use dlock_servers::{
    Certificates,
    etcd::{Flavour, Node, Options, Tls},
};

use crate::support::{Outcome, cases, refused, soon, start, take, until_queue_length, within};

cases![
    tls_works_with_an_authority_of_its_own,
    tls_works_with_a_clients_certificate,
    tls_to_a_plain_port_says_so,
    no_tls_to_a_tls_port_says_so,
    an_unknown_authority_says_so,
    a_missing_clients_certificate_says_so,
    certificates_that_cannot_be_read_say_so,
];

async fn start_tls(flavour: Flavour, tls: Tls) -> Outcome<(Node, Certificates)> {
    let options = Options {
        tls,
        ..Options::default()
    };
    let node = Node::start(&flavour.find()?, &options).await?;
    let certificates = node.certificates().ok_or("no certificates")?.clone();
    Ok((node, certificates))
}

async fn connect(scheme: &str, node: &Node, keys: &str) -> Outcome<dlock::Result<Locker>> {
    let url = format!("{scheme}://{}?ttl=120s&timeout=1s{keys}", node.address());
    let bound = Duration::from_secs(5);
    within(bound, "an answer", dlock::connect(url.as_str())).await
}

async fn fails(scheme: &str, node: &Node, keys: &str, kind: ErrorKind, says: &str) -> Outcome {
    let error = refused(connect(scheme, node, keys).await?)?;
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
    Ok(())
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

async fn works(node: &Node, keys: &str) -> Outcome {
    let locker = connect("etcds", node, keys).await??;
    let guard = take(&locker, "a").await?;
    let waiter = connect("etcds", node, keys).await??;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_queue_length(node, "a", 2).await?;
    guard.renew().await?;
    guard.release().await?;
    soon("its turn", waiting).await???.release().await?;
    Ok(())
}

async fn tls_works_with_an_authority_of_its_own(flavour: Flavour) -> Outcome {
    let (node, certificates) = start_tls(flavour, Tls::On).await?;
    works(&node, &with_ca(&certificates)).await
}

async fn tls_works_with_a_clients_certificate(flavour: Flavour) -> Outcome {
    let (node, certificates) = start_tls(flavour, Tls::Mutual).await?;
    works(&node, &with_client(&certificates)).await
}

async fn tls_to_a_plain_port_says_so(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let certificates = Certificates::generate()?;
    let ca = with_ca(&certificates);
    fails("etcds", &node, &ca, ErrorKind::Unavailable, "use etcd://").await
}

async fn no_tls_to_a_tls_port_says_so(flavour: Flavour) -> Outcome {
    let (node, _) = start_tls(flavour, Tls::On).await?;
    fails("etcd", &node, "", ErrorKind::Unavailable, "use etcds://").await
}

async fn an_unknown_authority_says_so(flavour: Flavour) -> Outcome {
    let (node, _) = start_tls(flavour, Tls::On).await?;
    let others = Certificates::generate()?;
    let other = with_ca(&others);
    let kind = ErrorKind::InvalidConfig;
    fails(
        "etcds",
        &node,
        &other,
        kind,
        "give its authority by tls_ca=",
    )
    .await
}

async fn a_missing_clients_certificate_says_so(flavour: Flavour) -> Outcome {
    let (node, certificates) = start_tls(flavour, Tls::Mutual).await?;
    let ca = with_ca(&certificates);
    let kind = ErrorKind::Unavailable;
    fails("etcds", &node, &ca, kind, "give it by tls_cert=").await
}

async fn certificates_that_cannot_be_read_say_so(flavour: Flavour) -> Outcome {
    let (node, certificates) = start_tls(flavour, Tls::On).await?;
    let kind = ErrorKind::InvalidConfig;
    fails(
        "etcds",
        &node,
        "&tls_ca=/no/such",
        kind,
        "cannot read /no/such",
    )
    .await?;
    let key = format!("&tls_ca={}", certificates.client_key().display());
    fails(
        "etcds",
        &node,
        &key,
        kind,
        "certificates in PEM form: there is none",
    )
    .await?;
    let (cert, key) = (certificates.client(), certificates.server_key());
    let others = format!("&tls_cert={}&tls_key={}", cert.display(), key.display());
    fails(
        "etcds",
        &node,
        &others,
        kind,
        "is not that of the certificate",
    )
    .await
}

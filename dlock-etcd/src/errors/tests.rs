use dlock_core::config::{Config, Registry};

use super::*;

/// The server's messages, and the row of each: kind, effect, and whether to abandon the connection.
const ANSWERS: &[(Code, &str, ErrorKind, Effect, bool)] = &[
    (
        Code::InvalidArgument,
        "etcdserver: authentication failed, invalid user ID or password",
        ErrorKind::Denied,
        Effect::None,
        false,
    ),
    (
        Code::InvalidArgument,
        "etcdserver: user name is empty",
        ErrorKind::Denied,
        Effect::None,
        false,
    ),
    (
        Code::PermissionDenied,
        "etcdserver: permission denied",
        ErrorKind::Denied,
        Effect::None,
        false,
    ),
    (
        Code::FailedPrecondition,
        "etcdserver: authentication is not enabled",
        ErrorKind::InvalidConfig,
        Effect::None,
        false,
    ),
    (
        Code::Unauthenticated,
        "etcdserver: invalid auth token",
        ErrorKind::Unavailable,
        Effect::None,
        true,
    ),
    (
        Code::ResourceExhausted,
        "etcdserver: mvcc: database space exceeded",
        ErrorKind::Unavailable,
        Effect::None,
        false,
    ),
    (
        Code::ResourceExhausted,
        "etcdserver: too many requests",
        ErrorKind::Unavailable,
        Effect::None,
        false,
    ),
    (
        Code::Unavailable,
        "etcdserver: no leader",
        ErrorKind::Unavailable,
        Effect::Unknown,
        true,
    ),
    (
        Code::Unavailable,
        "etcdserver: request timed out",
        ErrorKind::Unavailable,
        Effect::Unknown,
        true,
    ),
    (
        Code::Unavailable,
        "transport error",
        ErrorKind::Unavailable,
        Effect::Unknown,
        true,
    ),
    (
        Code::Internal,
        "h2 protocol error: http2 error",
        ErrorKind::Unavailable,
        Effect::Unknown,
        true,
    ),
    (
        Code::Unimplemented,
        "unknown service",
        ErrorKind::Unsupported,
        Effect::None,
        false,
    ),
    (
        Code::InvalidArgument,
        "etcdserver: too many operations in txn request",
        ErrorKind::Internal,
        Effect::Unknown,
        false,
    ),
];

async fn config(url: &str) -> EtcdConfig {
    let found = std::sync::Arc::new(std::sync::Mutex::new(None));
    let slot = found.clone();
    let registry = Registry::new().register("etcd", move |settings| {
        *slot.lock().expect("slot") = Some(EtcdConfig::from_settings(settings)?);
        Err(settings.invalid("read"))
    });
    let _ = registry.open(&Config::from_url(url).expect("a URL")).await;
    found.lock().expect("slot").take().expect("settings")
}

#[tokio::test]
async fn each_answer_of_the_server_has_its_kind_and_effect() {
    let config = config("etcd://h").await;
    for (code, words, kind, effect, ends_connection) in ANSWERS.iter().copied() {
        let failure = of_request(DriverError::GRpcStatus(Status::new(code, words)), &config);
        let found = (
            failure.error.kind(),
            failure.error.effect(),
            failure.ends_connection,
        );
        assert_eq!(found, (kind, effect, ends_connection), "{words}");
        assert!(!failure.error.to_string().contains('\n'), "{words}");
    }
}

#[test]
fn leases_that_are_gone_or_taken_are_known() {
    let status = |code, words| DriverError::GRpcStatus(Status::new(code, words));
    let gone = status(Code::NotFound, "etcdserver: requested lease not found");
    assert!(is_lease_gone(&gone) && !is_lease_taken(&gone));
    // By the gRPC proxy.
    let proxied = status(Code::Unknown, "etcdserver: requested lease not found");
    assert!(is_lease_gone(&proxied) && is_refusal_of_one(&proxied));
    let denied = status(Code::Unknown, "etcdserver: permission denied");
    assert!(is_refusal_of_one(&denied));
    let expired = DriverError::LeaseKeepAliveError("lease not found".to_owned());
    assert!(is_lease_gone(&expired));
    let taken = status(Code::FailedPrecondition, "etcdserver: lease already exists");
    assert!(is_lease_taken(&taken) && !is_lease_gone(&taken));
}

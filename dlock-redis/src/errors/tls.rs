//! Errors of TLS inside those of the driver.

use dlock_core::{ErrorKind, config::Tls};
use redis::RedisError;

use super::cause;

/// The kind and the hint of a TLS error about a certificate.
pub(super) fn of_certificate(error: &RedisError) -> Option<(ErrorKind, &'static str)> {
    match find(error)? {
        rustls::Error::InvalidCertificate(_) => Some(Tls::UNTRUSTED),
        rustls::Error::AlertReceived(alert) => Tls::of_alert(u8::from(*alert)),
        _ => None,
    }
}

/// Whether it is an error of TLS.
pub(super) fn is(error: &RedisError) -> bool {
    find(error).is_some()
}

/// The error of the TLS library inside the driver's.
fn find(error: &RedisError) -> Option<&rustls::Error> {
    cause::io(error)?.get_ref()?.downcast_ref()
}

//! Errors of TLS inside those of the driver.

use dlock_core::{ErrorKind, config::Tls};
use etcd_client::Error as DriverError;

use super::cause::find_cause;

/// The kind and the hint of a TLS error about a certificate.
pub(super) fn of_certificate(error: &DriverError) -> Option<(ErrorKind, &'static str)> {
    match find_cause::<rustls::Error>(error)? {
        rustls::Error::InvalidCertificate(_) => Some(Tls::UNTRUSTED),
        rustls::Error::AlertReceived(alert) => Tls::of_alert(u8::from(*alert)),
        _ => None,
    }
}

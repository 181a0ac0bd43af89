//! Errors of TLS inside those of the driver.

use std::io;

use dlock_core::{ErrorKind, config::Tls};

/// The kind and the hint of a TLS error about a certificate.
pub(super) fn of_certificate(error: &io::Error) -> Option<(ErrorKind, &'static str)> {
    match error.get_ref()?.downcast_ref()? {
        rustls::Error::InvalidCertificate(_) => Some(Tls::UNTRUSTED),
        rustls::Error::AlertReceived(alert) => Tls::of_alert(u8::from(*alert)),
        _ => None,
    }
}

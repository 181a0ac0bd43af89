//! The provider of cryptography, and whether a certificate and a key are a pair.

use std::sync::Arc;

use rustls::{
    Error as TlsError,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{Error as PemError, PemObject as _},
    },
    sign::CertifiedKey,
};

/// The provider of the process, or aws-lc-rs: rustls panics where two are compiled in and the program has chosen none.
pub(super) fn provider() -> Arc<CryptoProvider> {
    let chosen = CryptoProvider::get_default().cloned();
    chosen.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()))
}

/// The certificates of a file. That it has some was checked when it was read.
pub(super) fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    CertificateDer::pem_slice_iter(pem).collect()
}

/// Whether the first certificate is that of the key. True where that is unknown: the handshake shows it then.
pub(super) fn belong_together(cert: &[u8], key: &[u8]) -> bool {
    let (Ok(chain), Ok(key)) = (chain(cert), PrivateKeyDer::from_pem_slice(key)) else {
        return true;
    };
    let pair = CertifiedKey::from_der(chain, key, &provider());
    !matches!(pair, Err(TlsError::InconsistentKeys(_)))
}

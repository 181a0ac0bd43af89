//! TLS settings for the driver.

use dlock_core::{Error, ErrorKind, Result, config::Tls};
use zookeeper_client::TlsOptions;

/// Reads the certificates and the key.
pub(crate) fn options(files: &Tls) -> Result<TlsOptions> {
    // The driver takes the provider of the process, and a program with two of them panics without a choice. No
    // call of the driver takes another one. A choice that the program has made itself counts.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let ca = files.load_ca_or_system()?;
    let options = TlsOptions::new()
        .with_pem_ca(&String::from_utf8_lossy(&ca))
        .map_err(refused)?;
    let Some((cert, key)) = files.load_identity()? else {
        return Ok(options);
    };
    options
        .with_pem_identity(
            &String::from_utf8_lossy(&cert),
            &String::from_utf8_lossy(&key),
        )
        .map_err(refused)
}

fn refused(error: zookeeper_client::Error) -> Error {
    let why = "the driver refuses the certificates or the key";
    Error::new(ErrorKind::InvalidConfig, why).with_source(error)
}

//! Certificates for one server and its clients.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tempfile::TempDir;

/// The names of a loopback server.
const SERVER_NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// An authority of its own, a server's certificate for `localhost` and 127.0.0.1, and a client's. The PEM files
/// are there as long as a clone of this is.
#[derive(Clone, Debug)]
pub struct Certificates {
    directory: Arc<TempDir>,
}

impl Certificates {
    /// Makes them, with new keys.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn generate() -> io::Result<Self> {
        let made = Self {
            directory: Arc::new(TempDir::new()?),
        };
        made.write().map_err(io::Error::other)?;
        Ok(made)
    }

    /// The authority's certificate.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.file("ca.crt")
    }

    /// The server's certificate.
    #[must_use]
    pub fn server(&self) -> PathBuf {
        self.file("server.crt")
    }

    /// The server's key.
    #[must_use]
    pub fn server_key(&self) -> PathBuf {
        self.file("server.key")
    }

    /// The client's certificate.
    #[must_use]
    pub fn client(&self) -> PathBuf {
        self.file("client.crt")
    }

    /// The client's key.
    #[must_use]
    pub fn client_key(&self) -> PathBuf {
        self.file("client.key")
    }

    /// The key of a URL that makes a client trust the authority: `tls_ca=…`.
    #[must_use]
    pub fn ca_in_url(&self) -> String {
        format!("tls_ca={}", self.ca().display())
    }

    /// The keys of a URL that give the client's certificate: `tls_cert=…&tls_key=…`.
    #[must_use]
    pub fn client_in_url(&self) -> String {
        let (cert, key) = (self.client(), self.client_key());
        format!("tls_cert={}&tls_key={}", cert.display(), key.display())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let mut authority = named("dlock test authority", &[])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        fs::write(self.ca(), authority.self_signed(&key)?.pem())?;
        let issuer = Issuer::new(authority, key);

        let mut server = named("dlock test server", &SERVER_NAMES)?;
        // A member of etcd also uses it to connect to itself for its gateway.
        server.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        sign(server, &issuer, &self.server(), &self.server_key())?;
        let mut client = named("dlock test client", &[])?;
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        sign(client, &issuer, &self.client(), &self.client_key())
    }
}

fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let hosts = hosts.iter().copied().map(str::to_owned);
    let mut certificate = CertificateParams::new(hosts.collect::<Vec<_>>())?;
    certificate
        .distinguished_name
        .push(DnType::CommonName, name);
    Ok(certificate)
}

fn sign(
    mut certificate: CertificateParams,
    issuer: &Issuer<'_, KeyPair>,
    path: &Path,
    key_path: &Path,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    certificate.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    fs::write(path, certificate.signed_by(&key, issuer)?.pem())?;
    Ok(fs::write(key_path, key.serialize_pem())?)
}

//! Certificates and keys, as files have them.
//!
//! What the parser says of a malformed file has lines of it inside, and a key without its line breaks
//! is one line: only our own words leave this module.

use std::path::Path;

use rustls_pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject as _},
};

use crate::{
    base::error::{Error, ErrorKind, Result},
    config::small_file,
};

/// The lists of authorities that systems have are a quarter of this.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The first byte of a DER sequence: each certificate is one.
const SEQUENCE: u8 = 0x30;

/// The file's text, which has certificates.
pub(super) fn certificates(path: &Path) -> Result<Vec<u8>> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| unfit(path, "certificates", why(&error)))?;
    if found.is_empty() {
        return Err(unfit(path, "certificates", "there is none"));
    }
    if found.iter().any(|der| der.first() != Some(&SEQUENCE)) {
        return Err(unfit(
            path,
            "certificates",
            "one is not a certificate inside",
        ));
    }
    Ok(text)
}

/// The file's text, which has a private key.
pub(super) fn private_key(path: &Path) -> Result<Vec<u8>> {
    let text = read(path)?;
    let unfit = |why| Err(unfit(path, "a private key", why));
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) if key.secret_der().first() == Some(&SEQUENCE) => Ok(text),
        Ok(_) => unfit("it is not a key inside"),
        Err(_) if is_encrypted(&text) => unfit("it is encrypted, and a passphrase cannot be given"),
        Err(error) => unfit(why(&error)),
    }
}

fn is_encrypted(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

/// The reason to refuse a file, without any of its text.
fn why(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::NoItemsFound => "there is none",
        pem::Error::MissingSectionEnd { .. } => {
            "a section has no END line; each line must be one of its own"
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a BEGIN line is malformed; each line must be one of its own"
        }
        pem::Error::Base64Decode(_) => "a section is not base64",
        _ => "it cannot be read as such",
    }
}

fn unfit(path: &Path, what: &str, why: &str) -> Error {
    let why = format!(
        "{} is not usable as {what} in PEM form: {why}",
        path.display()
    );
    Error::new(ErrorKind::InvalidConfig, why)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    small_file::read(path, FILE_BYTES_MAX).map_err(|error| {
        let why = format!("cannot read {}", path.display());
        Error::new(ErrorKind::InvalidConfig, why).with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that no error may show.
    const SECRET: &str = "c2VjcmV0c2VjcmV0c2VjcmV0";

    /// The error of a file with this text.
    fn refused(text: &str, read: fn(&Path) -> Result<Vec<u8>>) -> String {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("file.pem");
        std::fs::write(&path, text).expect("written");
        let error = read(&path).expect_err("unfit");
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        let decimal: Vec<String> = SECRET.bytes().map(|byte| byte.to_string()).collect();
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(!shown.contains(SECRET), "{shown}");
            assert!(!shown.contains(&decimal[..4].join(", ")), "{shown}");
            assert!(shown.contains(&*path.to_string_lossy()), "{shown}");
        }
        error.to_string()
    }

    fn section(label: &str, body: &str) -> String {
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    }

    #[test]
    fn a_malformed_key_is_refused_without_a_word_of_it() {
        let whole = section("PRIVATE KEY", SECRET);
        for (text, why) in [
            (whole.replace('\n', ""), "each line"),
            (whole.replace('\n', "\\n"), "each line"),
            (whole.replace('\n', " "), "each line"),
            (
                whole.replace("-----END PRIVATE KEY-----", ""),
                "no END line",
            ),
            (whole.replace(SECRET, &format!("{SECRET}!")), "not base64"),
            (whole, "not a key inside"),
            (section("CERTIFICATE", SECRET), "there is none"),
            (section("ENCRYPTED PRIVATE KEY", SECRET), "passphrase"),
            (String::new(), "there is none"),
        ] {
            let said = refused(&text, private_key);
            assert!(said.contains(why), "{text:?}: {said}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let empty = section("CERTIFICATE", "");
        let good = section("CERTIFICATE", "MAA=");
        for (text, why) in [
            (empty.clone(), "not a certificate inside"),
            (good.clone() + &empty, "not a certificate inside"),
            (section("PRIVATE KEY", SECRET), "there is none"),
            (good + &section("CERTIFICATE", "?"), "not base64"),
        ] {
            let said = refused(&text, certificates);
            assert!(said.contains(why), "{text:?}: {said}");
        }
    }

    #[test]
    fn what_is_no_file_or_too_long_is_not_read() {
        let zeros = certificates(Path::new("/dev/zero")).expect_err("endless");
        assert!(zeros.to_string().contains("not a file"), "{zeros}");
        let long = "x".repeat(usize::try_from(FILE_BYTES_MAX).expect("small") + 1);
        assert!(refused(&long, certificates).contains("more than"));
    }
}

//! A password, or the place where it is read again for each connection.

use std::{ffi::OsString, fmt, path::PathBuf};

use crate::{
    base::error::{Error, ErrorKind, Result},
    config::{check::invalid, secret::Secret, small_file, variable::is_variable},
};

/// The longest file of a password, in bytes: far longer than any password, and short of a file in its place.
const FILE_BYTES_MAX: u64 = 4096;

/// A password: given, or in a file or an environment variable. Backends read it again for each connection, so that a
/// new one needs no restart.
///
/// ```
/// use dlock_core::config::{Login, Password};
///
/// let login = Login::new("app", "hunter2");
/// assert!(!format!("{login:?}").contains("hunter2"));
/// let login = Login::new("app", Password::file("/run/secrets/redis"));
/// let login = Login::new("app", Password::env("REDIS_PASSWORD"));
/// # let _ = login;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Password(Place);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Given(Secret),
    File(PathBuf),
    Variable(String),
}

impl Password {
    /// The password in the file at `path`, without the end of its line.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Place::File(path.into()))
    }

    /// The password in the environment variable `name`.
    #[must_use]
    pub fn env(name: impl Into<String>) -> Self {
        Self(Place::Variable(name.into()))
    }

    /// Checks what needs no I/O.
    pub(super) fn check(&self) -> Result<()> {
        match &self.0 {
            Place::Given(password) if password.expose().is_empty() => {
                Err(invalid("the password is empty; leave it out".to_owned()))
            }
            // Not quoted: it may be the password itself.
            Place::Variable(name) if !is_variable(name) => Err(invalid(
                "password_env is the name of an environment variable, of letters, digits and \"_\""
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Reads the password. Blocks while it reads a file.
    pub(super) fn read(&self) -> Result<Secret> {
        match &self.0 {
            Place::Given(password) => Ok(password.clone()),
            Place::File(path) => {
                let place = format!("the password file {}", path.display());
                let bytes = small_file::read(path, FILE_BYTES_MAX).map_err(|error| {
                    Error::new(ErrorKind::InvalidConfig, format!("cannot read {place}"))
                        .with_source(error)
                })?;
                let mut text = text_of(&place, String::from_utf8(bytes).ok())?;
                if text.ends_with('\n') {
                    text.pop();
                    if text.ends_with('\r') {
                        text.pop();
                    }
                }
                checked(&place, text)
            }
            Place::Variable(name) => {
                let place = format!("the environment variable {name} of the password");
                let Some(value) = std::env::var_os(name) else {
                    return Err(invalid(format!("{place} is not set")));
                };
                let text = text_of(&place, OsString::into_string(value).ok())?;
                checked(&place, text)
            }
        }
    }
}

impl From<Secret> for Password {
    fn from(password: Secret) -> Self {
        Self(Place::Given(password))
    }
}

impl From<String> for Password {
    fn from(password: String) -> Self {
        Secret::from(password).into()
    }
}

impl From<&str> for Password {
    fn from(password: &str) -> Self {
        Secret::from(password).into()
    }
}

fn text_of(place: &impl fmt::Display, text: Option<String>) -> Result<String> {
    text.ok_or_else(|| invalid(format!("{place} is not UTF-8")))
}

/// Refuses what is most likely another file, or a variable that was not set.
fn checked(place: &impl fmt::Display, password: String) -> Result<Secret> {
    if password.is_empty() {
        return Err(invalid(format!("{place} is empty")));
    }
    if password.contains(char::is_control) {
        return Err(invalid(format!(
            "{place} has more than one line, or a control character; it has the password alone"
        )));
    }
    Ok(Secret::new(password))
}

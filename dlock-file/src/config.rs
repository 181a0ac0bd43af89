//! Where the locks are.

use std::path::{Path, PathBuf};

use dlock_core::{Error, ErrorKind, Result, config::Settings};

/// The default directory inside the home of the user.
const IN_HOME: &str = ".local/state/dlock";

/// How many components [`IN_HOME`] has, all of which may be made.
const IN_HOME_COMPONENTS: usize = 3;

/// Which directory holds the locks. Processes exclude each other that use the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileConfig {
    directory: PathBuf,
    prefix: String,
    /// How many components at the end of `directory` may be made.
    makes: usize,
}

impl FileConfig {
    /// The longest prefix, in bytes.
    pub const PREFIX_BYTES_MAX: usize = 64;

    /// Locks in `directory`, which must be absolute. The last component of the path is made if it is
    /// not there, and no more than that: a mistyped path would silently not exclude.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when `directory` is relative or has a NUL byte.
    pub fn new(directory: impl Into<PathBuf>) -> Result<Self> {
        let directory = directory.into();
        let refuse = |why: &str| {
            let message = format!("{directory:?} {why}, as in file:/var/lock/app");
            Err(Error::new(ErrorKind::InvalidConfig, message))
        };
        if !directory.is_absolute() {
            return refuse("is no absolute path: give a directory that starts with a slash");
        }
        if directory.as_os_str().as_encoded_bytes().contains(&0) {
            return refuse("has a NUL byte: give a plain directory");
        }
        Ok(Self {
            directory,
            prefix: String::new(),
            makes: 1,
        })
    }

    /// Locks in the one directory of this user, independent of the environment: `.local/state/dlock` in the
    /// home that the user database names.
    ///
    /// Not `$HOME`, `$XDG_RUNTIME_DIR` or a temporary directory: those differ between cron, a login
    /// and a service, which would then silently not exclude each other.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when the user database knows no home of this user; `Unavailable` when it cannot be
    /// read.
    pub fn of_user() -> Result<Self> {
        let uid = nix::unistd::geteuid();
        let instead = "give a directory, as in file:/var/lock/app";
        let user = nix::unistd::User::from_uid(uid).map_err(|error| {
            let message = format!("the user database does not answer for user {uid}; {instead}");
            Error::new(ErrorKind::Unavailable, message).with_source(error)
        })?;
        let home = user
            .map(|user| user.dir)
            .filter(|home| home.is_absolute())
            .ok_or_else(|| {
                let message = format!("the user database has no home of user {uid}; {instead}");
                Error::new(ErrorKind::InvalidConfig, message)
            })?;
        let directory = home.join(IN_HOME);
        Ok(Self {
            directory,
            prefix: String::new(),
            makes: IN_HOME_COMPONENTS,
        })
    }

    /// The schemes of its URLs.
    pub const SCHEMES: &[&str] = &["file"];

    /// Reads the settings of a URL.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a directory or a prefix that is not allowed; without a directory also as
    /// [`of_user`](Self::of_user).
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let config = match settings.take_path() {
            Some(path) => Self::new(path).map_err(|error| settings.invalid(error))?,
            None => Self::of_user()?,
        };
        let prefix = settings.take_prefix()?.unwrap_or_default();
        config
            .with_prefix(&prefix)
            .map_err(|error| settings.invalid(error))
    }

    /// Puts `prefix` before every name: with `app/`, `a` is the lock that others call `app/a`.
    /// Default: empty.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when it is longer than [`FileConfig::PREFIX_BYTES_MAX`] bytes or has a control
    /// character.
    pub fn with_prefix(mut self, prefix: &str) -> Result<Self> {
        let max = Self::PREFIX_BYTES_MAX;
        let why = if prefix.len() > max {
            format!(
                "a prefix has at most {max} bytes, this one has {}",
                prefix.len()
            )
        } else if prefix.chars().any(char::is_control) {
            format!("a prefix has no control characters, this one is {prefix:?}")
        } else {
            prefix.clone_into(&mut self.prefix);
            return Ok(self);
        };
        Err(Error::new(ErrorKind::InvalidConfig, why))
    }

    /// The directory of the locks.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The prefix of every name.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The directories that may be made, the outermost first.
    pub(crate) fn makes(&self) -> Vec<&Path> {
        let mut paths: Vec<&Path> = self.directory.ancestors().take(self.makes).collect();
        paths.reverse();
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_directory_is_refused() {
        let error = FileConfig::new("locks").expect_err("relative");
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        let line = "\"locks\" is no absolute path: give a directory that starts with a slash, \
                    as in file:/var/lock/app";
        assert_eq!(error.to_string(), line);
        assert!(FileConfig::new("").is_err());
        assert!(FileConfig::new("/a\0b").is_err());
    }

    #[test]
    fn only_the_last_component_of_a_given_directory_is_made() {
        let config = FileConfig::new("/var/lock/app").expect("config");
        assert_eq!(config.makes(), [Path::new("/var/lock/app")]);
    }

    #[test]
    fn the_default_is_in_the_home_of_the_user_database() {
        let config = FileConfig::of_user().expect("config");
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid())
            .expect("asked")
            .expect("user");
        assert_eq!(config.directory(), user.dir.join(".local/state/dlock"));
        let makes =
            [".local", ".local/state", ".local/state/dlock"].map(|part| user.dir.join(part));
        assert_eq!(config.makes(), makes);
    }

    #[test]
    fn a_prefix_is_bounded() {
        let config = FileConfig::new("/d").expect("config");
        assert!(config.clone().with_prefix("app/").is_ok());
        assert!(config.clone().with_prefix(&"x".repeat(65)).is_err());
        assert!(config.with_prefix("a\nb").is_err());
    }
}

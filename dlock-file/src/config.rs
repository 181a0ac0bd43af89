//! Where the locks are.

use std::path::{Path, PathBuf};

use dlock_core::{
    Error, ErrorKind, LockName, Result,
    config::{Settings, check_prefix},
};
use nix::errno::Errno;

use crate::keys::FileName;

/// The default directory inside the home of the user.
const IN_HOME: &str = ".local/state/dlock";

/// How many components [`IN_HOME`] has, all of which may be made.
const IN_HOME_COMPONENTS: usize = 3;

/// Which directory holds the locks. Processes exclude each other that use the same one.
///
/// Setters do not fail: [`FileLock::open`](crate::FileLock::open) checks the values before any I/O, with the
/// same errors as for a URL.
///
/// ```
/// use dlock_file::FileConfig;
///
/// let config = FileConfig::new("/var/lock/app").prefix("jobs/");
/// # let _ = config;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "settings do nothing until a backend is opened"]
pub struct FileConfig {
    directory: PathBuf,
    prefix: String,
    /// How many components at the end of `directory` may be made.
    makes: usize,
}

impl FileConfig {
    /// The longest prefix, in bytes.
    pub const PREFIX_BYTES_MAX: usize = 64;

    /// Locks in `directory`, which must be absolute.
    ///
    /// The last component of the path is made if it is not there, and no more than that: a mistyped path would
    /// silently not exclude.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            prefix: String::new(),
            makes: 1,
        }
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
        let user = match nix::unistd::User::from_uid(uid) {
            // glibc has this error where there is no user database, as in a bare root.
            Err(Errno::ENOENT) => None,
            user => user.map_err(|error| {
                let message =
                    format!("the user database does not answer for user {uid}; {instead}");
                Error::new(ErrorKind::Unavailable, message).with_source(error)
            })?,
        };
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
            Some(path) => Self::new(path),
            None => Self::of_user()?,
        };
        let config = config.prefix(settings.take_prefix()?.unwrap_or_default());
        config.check().map_err(|error| settings.invalid(error))?;
        Ok(config)
    }

    /// Puts `prefix` before every name, of at most 64 bytes: with `app/`, `a` is the lock that others call
    /// `app/a`. Default: empty.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Checks all values, before any I/O (K11).
    pub(crate) fn check(&self) -> Result<()> {
        let directory = &self.directory;
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
        check_prefix(&self.prefix, Self::PREFIX_BYTES_MAX)
    }

    /// The directory of the locks.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path of the file of a lock: it is there once the lock was acquired.
    #[must_use]
    pub fn lock_file(&self, name: &LockName) -> PathBuf {
        self.directory
            .join(FileName::of(&self.prefix, name).as_str())
    }

    /// The prefix of every name.
    pub(crate) fn name_prefix(&self) -> &str {
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
        let error = FileConfig::new("locks").check().expect_err("relative");
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        let line = "\"locks\" is no absolute path: give a directory that starts with a slash, \
                    as in file:/var/lock/app";
        assert_eq!(error.to_string(), line);
        assert!(FileConfig::new("").check().is_err());
        assert!(FileConfig::new("/a\0b").check().is_err());
    }

    #[test]
    fn only_the_last_component_of_a_given_directory_is_made() {
        let config = FileConfig::new("/var/lock/app");
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
        let config = FileConfig::new("/d");
        assert!(config.clone().prefix("app/").check().is_ok());
        assert!(config.clone().prefix("x".repeat(65)).check().is_err());
        assert!(config.prefix("a\nb").check().is_err());
    }
}

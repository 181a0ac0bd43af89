//! The search for a configuration.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use super::{
    configuration::Config,
    file,
    source::{
        DEFAULT_URL, FILE_NAME, FILE_VARIABLE, REQUIRE_VARIABLE, SYSTEM_FILE, Source, URL_VARIABLE,
    },
    url::BackendUrl,
};
use crate::base::error::Result;

impl Config {
    /// Finds the configuration of this process, as [`Discovery`] says: `DLOCK_URL`, the file that
    /// `DLOCK_CONFIG` names, `dlock.toml` in the current directory, `/etc/dlock.toml`, else `file:`.
    ///
    /// ```
    /// use dlock_core::{Config, Result};
    ///
    /// fn print_store() -> Result<()> {
    ///     let config = Config::discover()?;
    ///     println!("{config}, from {}", config.source());
    ///     Ok(())
    /// }
    /// # print_store().unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Discovery::find`].
    pub fn discover() -> Result<Self> {
        Discovery::new().find()
    }
}

/// Finds the configuration. Uses the first of these sources that is set, and ignores the rest:
///
/// 1. a URL or a file that was given as an argument,
/// 2. the environment variable `DLOCK_URL`,
/// 3. the file that `DLOCK_CONFIG` names,
/// 4. `dlock.toml` in the current directory,
/// 5. `/etc/dlock.toml`,
/// 6. `file:`, unless `DLOCK_REQUIRE_URL` is set.
///
/// A source that is set but empty or broken is an error: it is never skipped. A `dlock.toml` in the current
/// directory is refused if its owner is neither this user nor root. With a password in it, it is also refused if its
/// group or others may write it. A file that was named is not checked so.
///
/// ```
/// use dlock_core::config::{Discovery, Source};
///
/// let env = |name: &str| (name == "DLOCK_URL").then(|| "redis://db-1".into());
/// let config = Discovery::new().env(env).find()?;
/// assert_eq!(config.source(), &Source::Environment);
/// assert_eq!(config.url().scheme(), "redis");
/// # Ok::<(), dlock_core::Error>(())
/// ```
pub struct Discovery<'a> {
    url: Option<&'a str>,
    file: Option<&'a Path>,
    env: Environment<'a>,
    directory: PathBuf,
    system_file: PathBuf,
}

type Environment<'a> = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync + 'a>;

impl<'a> Discovery<'a> {
    /// Makes a search in this process's environment and current directory.
    #[must_use]
    pub fn new() -> Self {
        let env = Box::new(|name: &str| std::env::var_os(name));
        Self {
            url: None,
            file: None,
            env,
            directory: PathBuf::new(),
            system_file: SYSTEM_FILE.into(),
        }
    }

    /// Sets the URL that was given as an argument, if there was one.
    #[must_use]
    pub fn url(mut self, url: Option<&'a str>) -> Self {
        self.url = url;
        self
    }

    /// Sets the configuration file that was given as an argument, if there was one.
    #[must_use]
    pub fn file(mut self, file: Option<&'a Path>) -> Self {
        self.file = file;
        self
    }

    /// Sets another environment than this process's.
    #[must_use]
    pub fn env(mut self, env: impl Fn(&str) -> Option<OsString> + Send + Sync + 'a) -> Self {
        self.env = Box::new(env);
        self
    }

    /// Sets the directory of `dlock.toml`, in place of the current one.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Sets the configuration file of the machine, in place of `/etc/dlock.toml`.
    #[must_use]
    pub fn system_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.system_file = path.into();
        self
    }

    /// Finds and reads the configuration. Blocks only while it reads files.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when both a URL and a file were given as arguments, or when the first source
    /// that is there is empty, missing though it was named, unreadable or wrong. Also when `DLOCK_REQUIRE_URL` is
    /// set and there is no source.
    pub fn find(self) -> Result<Config> {
        match (self.url, self.file) {
            (Some(_), Some(_)) => {
                let why = "a URL and a configuration file are given, allowed is one of them";
                return Err(Source::Argument.invalid(why));
            }
            (Some(url), None) => return Config::from_url(url),
            (None, Some(file)) => return Config::from_file(file),
            (None, None) => {}
        }
        if let Some(url) = (self.env)(URL_VARIABLE) {
            let source = Source::Environment;
            let Some(url) = url.to_str() else {
                return Err(source.invalid("it is not UTF-8"));
            };
            let url = BackendUrl::parse(url).map_err(|why| source.invalid(why))?;
            return Ok(Config::new(url, source));
        }
        if let Some(path) = (self.env)(FILE_VARIABLE) {
            if path.is_empty() {
                let why = format!("{FILE_VARIABLE} is empty; give it a path or unset it");
                return Err(Source::Argument.invalid(why));
            }
            return file::read(path.as_ref())?.ok_or_else(|| {
                let why = format!("there is no such file; {FILE_VARIABLE} names it");
                Source::File(path.into()).invalid(why)
            });
        }
        if let Some(config) = file::read_found(&self.directory.join(FILE_NAME))? {
            return Ok(config);
        }
        if let Some(config) = file::read(&self.system_file)? {
            return Ok(config);
        }
        if self.requires_a_source() {
            return Err(Source::Default.invalid(format!(
                "no store is configured, and {REQUIRE_VARIABLE} requires one; allowed are {URL_VARIABLE}, \
                 {FILE_VARIABLE}, {FILE_NAME} and {SYSTEM_FILE}"
            )));
        }
        Ok(Config::new(
            BackendUrl::parse(DEFAULT_URL)?,
            Source::Default,
        ))
    }

    /// Whether `DLOCK_REQUIRE_URL` is set.
    fn requires_a_source(&self) -> bool {
        (self.env)(REQUIRE_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0")
    }
}

impl Default for Discovery<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Discovery<'_> {
    /// Leaves out the URL, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery")
            .field("file", &self.file)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

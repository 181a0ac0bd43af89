//! The configuration file.

use std::{
    fs::{File, Metadata},
    io,
    io::Read,
    path::Path,
};

use toml::Table;

#[cfg(doc)]
use super::url::BackendUrl;
use super::{configuration::Config, source::Source, table::from_table, trust};
use crate::base::error::Result;

/// The longest configuration file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024;

impl Config {
    /// Reads the configuration in the text of a TOML file: `url = "…"` and keys of the URL.
    ///
    /// A key is a string, an integer or a boolean. It is either in the URL or in the file.
    ///
    /// A key with the URL of another store may also be a table, which is read in the same way: its `url`, and keys of
    /// that URL. The tables `[[node]]` become the keys `1`, `2` and so on, at most [`BackendUrl::NODES_MAX`]. Tables are
    /// nested in [`BackendUrl::STORES_NESTED_MAX`] stores at most.
    ///
    /// ```
    /// use dlock_core::config::Config;
    ///
    /// let config = Config::from_toml(
    ///     r#"
    ///     url = "migrate:"
    ///
    ///     [from]
    ///     url = "redis://:hunter2@db-1"
    ///     ttl = "10s"
    ///
    ///     [to]
    ///     url = "etcd://db-2"
    ///     "#,
    /// )?;
    /// let from = config.url().param("from");
    /// assert_eq!(from, Some("redis://:hunter2@db-1?ttl=10s"));
    ///
    /// let nodes = "url = 'quorum:'\n[[node]]\nurl = 'redis://a'\n[[node]]\nurl = 'redis://b'";
    /// let config = Config::from_toml(nodes)?;
    /// assert_eq!(config.to_string(), "quorum:?1=redis://a&2=redis://b");
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` with line and column if the text is not TOML; also for a missing or wrong URL, a key
    /// that is given twice or a value of another type. Those of a table have its path, as in `from.url`.
    pub fn from_toml(text: &str) -> Result<Self> {
        parse(text, Source::Argument)
    }

    /// Reads the configuration in the TOML file at `path`, as [`Config::from_toml`]. Blocks while it
    /// reads.
    ///
    /// # Errors
    ///
    /// As [`Config::from_toml`], or when the file is missing, unreadable or longer than 64 KiB.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        read(path)?.ok_or_else(|| Source::File(path.to_owned()).invalid("there is no such file"))
    }
}

/// Reads the configuration file at `path`; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Config>> {
    let source = Source::File(path.to_owned());
    match text(path, &source)? {
        Some((text, _)) => parse(&text, source).map(Some),
        None => Ok(None),
    }
}

/// Reads a file like [`read`] that no user has named. Refuses one that another user may have written.
pub(super) fn read_found(path: &Path) -> Result<Option<Config>> {
    let source = Source::File(path.to_owned());
    let Some((text, metadata)) = text(path, &source)? else {
        return Ok(None);
    };
    trust::check_owner(&metadata).map_err(|why| source.invalid(why))?;
    let config = parse(&text, source)?;
    trust::check_writers(&metadata, config.url()).map_err(|why| config.source().invalid(why))?;
    Ok(Some(config))
}

/// The text of the file at `path`, and the metadata of that file; `None` if there is none.
fn text(path: &Path, source: &Source) -> Result<Option<(String, Metadata)>> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        let metadata = file.metadata()?;
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
        Ok(metadata)
    });
    match read {
        Ok(_) if text.len() as u64 > FILE_BYTES_MAX => {
            Err(source.invalid(format!("the file is longer than {FILE_BYTES_MAX} bytes")))
        }
        Ok(metadata) => Ok(Some((text, metadata))),
        // A link to nowhere is there, and broken.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(None),
        Err(error) => Err(source.invalid(format!("cannot read the file: {error}"))),
    }
}

/// Reads the text of a file.
pub(super) fn parse(text: &str, source: Source) -> Result<Config> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        // Only where and why: the error's own text quotes the line, which may hold a password.
        let (line, column) = error
            .span()
            .map_or((1, 1), |span| position(text, span.start));
        let why = error.message().lines().collect::<Vec<_>>().join(", ");
        // A number that is too large is quoted, and may be a password.
        let why = if why.starts_with("invalid type") {
            "a number is too large, write it in quotes"
        } else {
            &*why
        };
        source.invalid(format!("line {line}, column {column}: {why}"))
    })?;
    from_table(table, source)
}

/// Line and column, both from 1, of the byte `at`.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

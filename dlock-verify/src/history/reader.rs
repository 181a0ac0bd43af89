//! Reads a history event by event.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use serde::Deserialize;

use super::{
    event::Event,
    header::{FORMAT, Header},
    line,
    name::Names,
};

/// The longest line of a history, in bytes: a listing of a store.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The events of a written history, which it reads as it is iterated.
///
/// Their names are shared, so that many events fit in memory.
#[derive(Debug)]
pub struct Reader<R> {
    header: Header,
    source: R,
    names: Names,
    line: String,
    number: u64,
}

/// The reason why a history cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    Io(io::Error),
    /// The history is of another version.
    Version {
        /// The format of the history.
        found: String,
    },
    /// A line is not what it must be.
    Line {
        /// The number of the line, from one.
        number: u64,
        /// The reason.
        reason: String,
    },
}

/// The field of a header that all versions have.
#[derive(Deserialize)]
struct Versioned {
    format: String,
}

impl Reader<BufReader<File>> {
    /// Opens the history in a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, has no header, or is of another version.
    ///
    /// # Blocking
    ///
    /// Until the system has read the first line.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(ReadError::Io)?;
        Self::new(BufReader::new(file))
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads the header of the history that comes from `source`.
    ///
    /// # Errors
    ///
    /// As [`open`](Reader::open).
    ///
    /// # Blocking
    ///
    /// Until `source` has the first line.
    pub fn new(mut source: R) -> Result<Self, ReadError> {
        let mut line = String::new();
        read_line(&mut source, &mut line).map_err(ReadError::Io)?;
        let wrong = |error: serde_json::Error| ReadError::Line {
            number: 1,
            reason: format!("not the header of a history: {error}"),
        };
        let Versioned { format } = serde_json::from_str(&line).map_err(wrong)?;
        if format != FORMAT {
            return Err(ReadError::Version { found: format });
        }
        Ok(Self {
            header: serde_json::from_str(&line).map_err(wrong)?,
            source,
            names: Names::default(),
            line,
            number: 1,
        })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.number += 1;
        match read_line(&mut self.source, &mut self.line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(ReadError::Io(error))),
        }
        Some(
            line::parse(&self.line, &mut self.names).map_err(|error| ReadError::Line {
                number: self.number,
                reason: format!("not an event: {error}"),
            }),
        )
    }
}

/// Reads one line; the number of its bytes.
fn read_line(source: &mut impl BufRead, line: &mut String) -> io::Result<usize> {
    line.clear();
    let count = io::Read::take(source, LINE_BYTES_MAX).read_line(line)?;
    if count as u64 == LINE_BYTES_MAX && !line.ends_with('\n') {
        let message = format!("a line is longer than {LINE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(count)
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read the history: {error}"),
            Self::Version { found } => {
                write!(
                    f,
                    "the history is {found:?}, and this program reads {FORMAT:?}"
                )
            }
            Self::Line { number, reason } => write!(f, "line {number} of the history: {reason}"),
        }
    }
}

impl std::error::Error for ReadError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = Reader::new(text.as_bytes()).expect_err("refused");
        error.to_string()
    }

    #[test]
    fn another_version_is_refused_with_both() {
        let line = r#"{"format":"dlock-history/2","seed":[1,2]}"#;
        let message =
            "the history is \"dlock-history/2\", and this program reads \"dlock-history/1\"";
        assert_eq!(refused(line), message);
    }

    #[test]
    fn a_file_that_is_no_history_is_refused() {
        let message = "line 1 of the history: not the header of a history: ";
        for text in ["", "\n", "{}\n", "hello\n"] {
            assert!(refused(text).starts_with(message), "{text:?}");
        }
        let version_only = refused(r#"{"format":"dlock-history/1"}"#);
        assert!(version_only.contains("`seed`"), "{version_only}");
    }
}

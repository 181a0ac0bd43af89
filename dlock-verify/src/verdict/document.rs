//! The document of `dlock verify --json`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{outcome::Outcome, store::StoreVerdict};

/// The name and version of the format.
pub const FORMAT: &str = "dlock-verify/1";

/// The verdicts about all stores of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Document {
    /// The format: [`FORMAT`].
    pub format: String,
    /// The version of dlock.
    pub dlock: String,
    /// The seed of the run, in hexadecimal digits.
    pub seed: String,
    /// One for each store, in the order of the command line.
    pub stores: Vec<StoreVerdict>,
}

impl Document {
    /// A document of this version of dlock.
    #[must_use]
    pub fn new(seed: u64, stores: Vec<StoreVerdict>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            dlock: env!("CARGO_PKG_VERSION").to_owned(),
            seed: format!("{seed:016x}"),
            stores,
        }
    }

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// For a document of another format or version, naming both, and for one that is malformed.
    pub fn from_json(text: &str) -> Result<Self, FormatError> {
        let Header { format } = serde_json::from_str(text).map_err(FormatError::Malformed)?;
        if format != FORMAT {
            return Err(FormatError::Version(format));
        }
        serde_json::from_str(text).map_err(FormatError::Malformed)
    }

    /// The gravest outcome of all stores.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let outcomes = self.stores.iter().map(Outcome::of);
        outcomes.max().unwrap_or(Outcome::Unknown)
    }
}

#[derive(Deserialize)]
struct Header {
    format: String,
}

/// The reason why a text is not a [`Document`].
#[derive(Debug)]
#[non_exhaustive]
pub enum FormatError {
    /// The document has this format instead of [`FORMAT`].
    Version(String),
    /// The text is not JSON of the format.
    Malformed(serde_json::Error),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(format) => {
                write!(f, "the format is {format:?} (this dlock reads {FORMAT:?})")
            }
            Self::Malformed(error) => write!(f, "not a document of {FORMAT:?}: {error}"),
        }
    }
}

impl std::error::Error for FormatError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Version(_) => None,
            Self::Malformed(error) => Some(error),
        }
    }
}

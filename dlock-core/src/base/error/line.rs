//! An error as a line for people.

use std::{error::Error as StdError, fmt};

use super::{Error, ErrorKind, one_line::one_line};

/// The operation of a connect.
const CONNECT: &str = "connect";

impl fmt::Display for Error {
    /// One line: `cannot acquire "seat/14C" (redis): another holder has it`, or
    /// `cannot connect to redis at db-1:6379: connection refused`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        match (inner.kind, inner.operation, &inner.name) {
            (ErrorKind::Lost, _, Some(name)) => write!(f, "lost {name:?}")?,
            (_, Some(operation), Some(name)) => write!(f, "cannot {operation} {name:?}")?,
            (_, Some(operation), None) => write!(f, "cannot {operation}")?,
            (_, None, _) => {}
        }
        if let Some(operation) = inner.operation {
            match (inner.backend, &inner.address) {
                (Some(backend), Some(at)) if operation == CONNECT => {
                    write!(f, " to {backend} at {at}")?;
                }
                (Some(backend), Some(at)) => write!(f, " ({backend} at {at})")?,
                (Some(backend), None) => write!(f, " ({backend})")?,
                (None, _) => {}
            }
            f.write_str(": ")?;
        }
        f.write_str(&inner.message)?;
        if let Some(hint) = inner.url_hint {
            write!(f, "; {hint}")?;
        }
        match &inner.source {
            Some(source) if !inner.is_source_quoted => write!(f, ": {}", one_line(source)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        f.debug_struct("Error")
            .field("kind", &inner.kind)
            .field("effect", &inner.effect)
            .field("operation", &inner.operation)
            .field("backend", &inner.backend)
            .field("address", &inner.address)
            .field("name", &inner.name)
            .field("message", &inner.message)
            .field("url_hint", &inner.url_hint)
            .field("source", &inner.source)
            .finish()
    }
}

impl StdError for Error {
    /// The first error of the chain whose text is not part of this one's line.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let line = one_line(self.0.source.as_ref()?);
        // Drivers, too, print a cause and return it as their source.
        std::iter::successors(self.0.source.as_deref()?.source(), |&error| error.source())
            .find(|error| !line.contains(&one_line(error)))
    }
}

//! Servers that cannot be reached: the same words for every store.

use std::{io, time::Duration};

use super::{Error, ErrorKind};

/// The question about an address where nothing answers.
const IS_IT_RUNNING: &str = "is the server running, and the port right?";

impl Error {
    /// Makes the error of a server that cannot be reached: `Unavailable`, with the system's cause as its message. It
    /// keeps the kind of `cause` as its source.
    ///
    /// ```
    /// use std::io;
    ///
    /// use dlock_core::Error;
    ///
    /// let error = Error::unreachable(&io::ErrorKind::ConnectionRefused.into()).at("db-1:6379");
    /// let error = error.in_context("connect", "redis", None);
    /// let line = "cannot connect to redis at db-1:6379: connection refused";
    /// assert!(error.to_string().starts_with(line));
    /// ```
    #[must_use]
    pub fn unreachable(cause: &io::Error) -> Self {
        let mut words = words(cause);
        if cause.kind() == io::ErrorKind::ConnectionRefused {
            words = format!("{words}; {IS_IT_RUNNING}");
        }
        Self::new(ErrorKind::Unavailable, words).with_quoted_source(io::Error::from(cause.kind()))
    }

    /// Makes the error of a server that gave no answer in `max`.
    #[must_use]
    pub fn no_answer(max: Duration) -> Self {
        Self::new(ErrorKind::Unavailable, format!("no answer in {max:?}"))
    }
}

/// The words of the system, as a part of a line.
fn words(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::TimedOut => return "no answer in time".to_owned(),
        io::ErrorKind::UnexpectedEof => return "the server ended the connection".to_owned(),
        _ => {}
    }
    let text = cause.to_string();
    // Rust adds the number.
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // Not the first letter of an abbreviation.
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            format!("{}{}", first.to_lowercase(), letters.as_str())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_systems() {
        // Of Linux.
        let refused = io::Error::from_raw_os_error(111);
        let error = Error::unreachable(&refused);
        let line = "connection refused; is the server running, and the port right?";
        assert_eq!(error.to_string(), line);
        let kept = error.get_ref().and_then(|source| source.downcast_ref());
        assert_eq!(
            kept.map(io::Error::kind),
            Some(io::ErrorKind::ConnectionRefused)
        );
        for (cause, words) in [
            (io::Error::from_raw_os_error(113), "no route to host"),
            (
                io::Error::from_raw_os_error(104),
                "connection reset by peer",
            ),
            (io::ErrorKind::TimedOut.into(), "no answer in time"),
            (
                io::ErrorKind::UnexpectedEof.into(),
                "the server ended the connection",
            ),
            (io::Error::other("TLS alert"), "TLS alert"),
        ] {
            assert_eq!(Error::unreachable(&cause).to_string(), words);
        }
    }

    #[test]
    fn the_server_is_named_behind_the_store() {
        let failed = || Error::no_answer(Duration::from_secs(5)).at("db-1:6379");
        let connect = failed().in_context("connect", "redis", None);
        let line = "cannot connect to redis at db-1:6379: no answer in 5s";
        assert_eq!(connect.to_string(), line);
        assert_eq!(connect.duplicate().address(), Some("db-1:6379"));
        let renew = failed().at("db-2:6379").in_context("renew", "redis", None);
        let line = "cannot renew (redis at db-1:6379): no answer in 5s";
        assert_eq!(renew.to_string(), line);
        // Settings are of no server.
        let wrong = Error::new(ErrorKind::InvalidConfig, "no such key");
        let wrong = wrong.in_context("connect", "redis", None);
        assert_eq!(wrong.to_string(), "cannot connect (redis): no such key");
    }

    #[test]
    fn a_copy_repeats_no_words() {
        let error = Error::unreachable(&io::ErrorKind::ConnectionRefused.into());
        assert_eq!(error.duplicate().to_string(), error.to_string());
    }
}

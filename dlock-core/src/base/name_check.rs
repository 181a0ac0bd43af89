//! The rules for names, and the conversions that check them.

use std::{convert::Infallible, str::FromStr};

use super::{
    error::{Error, ErrorKind},
    name::LockName,
};

impl LockName {
    /// Makes a lock name of `name` after checking it.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when `name` is empty, longer than [`LockName::BYTES_MAX`] bytes or has a
    /// control character (C0, DEL or C1).
    pub fn new(name: &str) -> Result<Self, Error> {
        let invalid = |why: String| Err(Error::new(ErrorKind::InvalidInput, why));
        if name.is_empty() {
            return invalid(format!(
                "the lock name is empty (allowed: 1 to {} bytes)",
                Self::BYTES_MAX
            ));
        }
        if name.len() > Self::BYTES_MAX {
            let (max, len) = (Self::BYTES_MAX, name.len());
            return invalid(format!(
                "the lock name has {len} bytes (allowed: 1 to {max})"
            ));
        }
        if let Some((at, c)) = name.char_indices().find(|(_, c)| c.is_control()) {
            let code = u32::from(c);
            return invalid(format!(
                "the lock name has a control character (U+{code:04X} at byte {at}); remove it"
            ));
        }
        Ok(Self(name.into()))
    }
}

impl FromStr for LockName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::new(name)
    }
}

impl TryFrom<&str> for LockName {
    type Error = Error;

    fn try_from(name: &str) -> Result<Self, Error> {
        Self::new(name)
    }
}

impl TryFrom<String> for LockName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Error> {
        Self::new(&name)
    }
}

impl TryFrom<&String> for LockName {
    type Error = Error;

    fn try_from(name: &String) -> Result<Self, Error> {
        Self::new(name)
    }
}

/// Lets methods take a checked name and an unchecked one alike.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_in_bytes() {
        assert!(LockName::new(&"x".repeat(255)).is_ok());
        assert!(LockName::new(&"x".repeat(256)).is_err());
        assert!(LockName::new(&"é".repeat(128)).is_err());
        assert!(LockName::new("").is_err());
    }

    #[test]
    fn a_map_of_names_is_searched_by_text() {
        let name: LockName = "seat/14C".parse().expect("a name");
        let by_name = std::collections::HashMap::from([(name, 1)]);
        assert_eq!(by_name.get("seat/14C"), Some(&1));
        assert!("".parse::<LockName>().is_err());
    }

    #[test]
    fn control_characters_are_refused_and_named() {
        for bad in ["a\0", "a\nb", "\u{7f}", "x\u{85}", "\u{9f}"] {
            let error = LockName::new(bad).expect_err("control character");
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
        let error = LockName::new("ab\n").expect_err("newline");
        assert!(error.to_string().contains("U+000A at byte 2"), "{error}");
    }

    #[test]
    fn everything_else_is_allowed() {
        for good in [
            "a",
            "a/b",
            "a{b}c",
            "..",
            ".",
            " ",
            "ü/日本",
            "%2F",
            "a:fence",
        ] {
            assert_eq!(LockName::new(good).expect(good).as_str(), good);
        }
    }
}

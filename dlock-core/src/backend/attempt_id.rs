//! The identity of an attempt.

use std::{fmt, str::FromStr};

use crate::base::{
    error::{Error, ErrorKind},
    random,
};

/// The random 128-bit identity of an attempt to take a lock.
///
/// Each attempt has one, never a client or a process: two holds of one process are never taken for each
/// other. Prints as 32 hexadecimal digits.
///
/// ```
/// use dlock_core::AttemptId;
///
/// let id = AttemptId::from_u128(0xa1);
/// assert_eq!(id.to_string(), "000000000000000000000000000000a1");
/// assert_eq!(id.to_string().parse::<AttemptId>()?, id);
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(u128);

impl AttemptId {
    /// Makes a random identity: core makes one for each attempt. A [migration](crate::backend::Migration) has one, too.
    #[must_use]
    pub fn random() -> Self {
        Self(random::id())
    }

    /// The identity with this number.
    #[must_use]
    pub const fn from_u128(id: u128) -> Self {
        Self(id)
    }

    /// The identity as a number.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// Calls `write` with the 32 hexadecimal digits. Each acquire writes them, and `fmt` takes ten times as long.
    ///
    /// ```
    /// use dlock_core::AttemptId;
    ///
    /// let mut key = String::from("attempt-");
    /// AttemptId::from_u128(0xa1).with_digits(|digits| key.push_str(digits));
    /// assert_eq!(key, "attempt-000000000000000000000000000000a1");
    /// ```
    pub fn with_digits<T>(self, write: impl FnOnce(&str) -> T) -> T {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 0xf)];
        }
        write(str::from_utf8(&digits).unwrap_or_default())
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_digits(|digits| f.write_str(digits))
    }
}

/// Reads what `Display` writes.
impl FromStr for AttemptId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(id) if is_id => Ok(Self(id)),
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("attempt id {text:?} is not 32 hexadecimal digits"),
            )),
        }
    }
}

impl fmt::Debug for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read_as_it_is_written() {
        let id = AttemptId::from_u128(0x4f00_0000_0000_0000_0000_0000_0000_00a1);
        assert_eq!(id.to_string(), "4f0000000000000000000000000000a1");
        for id in [AttemptId::from_u128(0), AttemptId::random()] {
            assert_eq!(id.to_string().parse::<AttemptId>().expect("an id"), id);
        }
        for text in ["", "a1", &"g".repeat(32), &format!("+{}", "0".repeat(31))] {
            let error = text.parse::<AttemptId>().expect_err(text);
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
    }
}

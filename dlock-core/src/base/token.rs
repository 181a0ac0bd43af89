//! Fencing tokens.

use std::{
    fmt,
    num::{NonZeroU64, ParseIntError, TryFromIntError},
    str::FromStr,
};

/// A fencing token: of two grants of one name, the later one has the larger token (K5). Every token fits an `i64`.
///
/// A resource that remembers the largest token it has seen and refuses smaller ones never accepts a
/// write of an earlier holder. See Kleppmann, *How to do distributed locking*
/// (2016), and the sequencers of Chubby (OSDI 2006, §2.4).
///
/// ```
/// use dlock_core::Token;
///
/// /// A resource that refuses the writes of earlier holders.
/// struct Register {
///     largest: Option<Token>,
///     value: u32,
/// }
///
/// impl Register {
///     fn write(&mut self, token: Token, value: u32) -> bool {
///         if self.largest > Some(token) {
///             return false;
///         }
///         (self.largest, self.value) = (Some(token), value);
///         true
///     }
/// }
///
/// let mut register = Register { largest: None, value: 0 };
/// assert!(register.write(Token::try_from(8)?, 1));
/// assert!(!register.write(Token::try_from(7)?, 2));
/// assert_eq!(register.value, 1);
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(NonZeroU64);

impl Token {
    /// The largest token that a backend may give: half of the number range is kept for a
    /// `token_base`.
    pub const MAX: u64 = i64::MAX.cast_unsigned() / 2;

    /// The token `value`; `None` for zero, which no grant has, and past `i64::MAX`.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(value) if value.get() <= i64::MAX.cast_unsigned() => Some(Self(value)),
            _ => None,
        }
    }

    /// The number to compare and to store.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The number for a signed column, such as `BIGINT`: every token fits.
    ///
    /// ```
    /// let token = dlock_core::Token::try_from(7)?;
    /// assert_eq!(token.as_i64(), 7);
    /// # Ok::<(), std::num::TryFromIntError>(())
    /// ```
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        self.0.get().cast_signed()
    }

    /// The token plus `base`; `None` past `i64::MAX`.
    #[must_use]
    pub const fn with_base(self, base: u64) -> Option<Self> {
        match self.get().checked_add(base) {
            Some(value) => Self::new(value),
            None => None,
        }
    }
}

impl From<Token> for NonZeroU64 {
    fn from(token: Token) -> Self {
        token.0
    }
}

impl From<Token> for u64 {
    fn from(token: Token) -> Self {
        token.get()
    }
}

impl TryFrom<u64> for Token {
    type Error = TryFromIntError;

    fn try_from(value: u64) -> Result<Self, TryFromIntError> {
        i64::try_from(value)?;
        NonZeroU64::try_from(value).map(Self)
    }
}

/// Reads what `Display` writes: a decimal number from 1 to `i64::MAX`.
impl FromStr for Token {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse::<i64>()?;
        text.parse().map(Self)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_is_written() {
        for value in [1, 77, i64::MAX.cast_unsigned()] {
            let token = Token::try_from(value).expect("not zero");
            assert_eq!(token.to_string().parse(), Ok(token));
            assert_eq!(u64::from(token), value);
            assert_eq!(token.as_i64().cast_unsigned(), value);
        }
        for value in [0, i64::MAX.cast_unsigned() + 1] {
            assert!(Token::try_from(value).is_err());
            assert_eq!(Token::new(value), None);
        }
        for text in ["", "0", "-1", "x", "9223372036854775808"] {
            assert!(text.parse::<Token>().is_err(), "{text:?}");
        }
    }
}

//! Checks of settings that were given in code: the same words as for those of a URL.

use std::{ops::RangeInclusive, time::Duration};

use crate::base::{
    error::{Error, ErrorKind, Result},
    range::{out_of_range, time_out_of_range},
};

/// Refuses a time outside of `allowed`, as [`Settings::take_duration`](super::Settings::take_duration) does.
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::config::check_duration;
///
/// let bounds = Duration::from_millis(10)..=Duration::from_secs(60);
/// let error = check_duration("timeout", Duration::from_millis(5), bounds).unwrap_err();
/// assert_eq!(error.to_string(), "timeout 5ms is out of range (10ms to 1m)");
/// ```
///
/// # Errors
///
/// `InvalidConfig`, with the key, the value and the bounds.
pub fn check_duration(key: &str, value: Duration, allowed: RangeInclusive<Duration>) -> Result<()> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let value = humantime::format_duration(value);
    Err(invalid(time_out_of_range(key, value, &allowed)))
}

/// Refuses a number outside of `allowed`, as [`Settings::take_u64`](super::Settings::take_u64) does.
///
/// ```
/// use dlock_core::config::check_u64;
///
/// let error = check_u64("min_acks", 101, 0..=100).unwrap_err();
/// assert_eq!(error.to_string(), "min_acks 101 is out of range (0 to 100)");
/// ```
///
/// # Errors
///
/// `InvalidConfig`, with the key, the value and the bounds.
pub fn check_u64(key: &str, value: u64, allowed: RangeInclusive<u64>) -> Result<()> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(invalid(out_of_range(key, value, &allowed)))
}

/// Refuses a prefix of lock names that is too long or has a control character.
///
/// ```
/// use dlock_core::config::check_prefix;
///
/// let error = check_prefix("shop:", 4).unwrap_err();
/// assert_eq!(error.to_string(), "a prefix has at most 4 bytes, this one has 5");
/// ```
///
/// # Errors
///
/// `InvalidConfig`, with the prefix or its length.
pub fn check_prefix(prefix: &str, bytes_max: usize) -> Result<()> {
    if prefix.len() > bytes_max {
        let len = prefix.len();
        return Err(invalid(format!(
            "a prefix has at most {bytes_max} bytes, this one has {len}"
        )));
    }
    if prefix.contains(char::is_control) {
        return Err(invalid(format!(
            "a prefix has no control characters, this one is {prefix:?}"
        )));
    }
    Ok(())
}

pub(super) fn invalid(why: String) -> Error {
    Error::new(ErrorKind::InvalidConfig, why)
}

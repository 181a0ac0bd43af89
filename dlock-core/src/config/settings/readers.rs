//! How values are read: typed, with bounds, and with errors that name both.

use std::{ops::RangeInclusive, time::Duration};

use super::{CommonSettings, Settings};
use crate::{
    base::error::{Error, Result},
    client::{builder::LockerBuilder, options::too_long_to_guard},
    config::secret::{MASK, Secret, is_secret_key},
};

impl Settings {
    /// Reads the keys that mean the same for all backends.
    pub(super) fn take_common(&mut self) -> Result<CommonSettings> {
        let ttl = CommonSettings::TTL_MIN..=CommonSettings::TTL_MAX;
        Ok(CommonSettings {
            ttl: self.take_duration("ttl", ttl)?,
            wait: self.take_duration("wait", Duration::ZERO..=CommonSettings::WAIT_MAX)?,
            token_base: self.take_u64("token_base", 0..=LockerBuilder::TOKEN_BASE_MAX)?,
        })
    }

    /// The longest prefix of lock names, in bytes.
    pub const PREFIX_BYTES_MAX: usize = 128;

    /// Refuses a ttl that the backend would refuse later, after it was connected to.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, with the bounds.
    pub fn check_ttl(&self, allowed: RangeInclusive<Duration>) -> Result<()> {
        match self.common().ttl {
            Some(ttl) if !allowed.contains(&ttl) => {
                let ttl = humantime::format_duration(ttl).to_string();
                Err(self.invalid_value("ttl", &ttl, &bounds(&allowed)))
            }
            _ => Ok(()),
        }
    }

    /// How long the store grants nothing after it may have forgotten its locks: the key `restart_guard`
    /// of backends that wait then, from zero, which turns it off, to `max`. By default the `ttl`, and at
    /// least that of a locker for which none is set. It becomes
    /// [`Capabilities::restart_guard`](crate::Capabilities::restart_guard), so that a longer ttl in the
    /// code is refused, too.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for one that is out of bounds, or shorter than the ttl.
    pub fn take_restart_guard(&mut self, max: Duration) -> Result<Duration> {
        let given = self.take_duration("restart_guard", Duration::ZERO..=max)?;
        let ttl = self.common().ttl.unwrap_or(LockerBuilder::TTL);
        match given {
            Some(guard) if !guard.is_zero() && guard < ttl => {
                Err(self.invalid(too_long_to_guard(ttl, guard)))
            }
            given => Ok(given.unwrap_or_else(|| ttl.max(LockerBuilder::TTL))),
        }
    }

    /// The prefix of all names in the store, the common key `prefix`; for backends whose stores
    /// have one name space. At most [`Settings::PREFIX_BYTES_MAX`] bytes; may be empty, for
    /// backends that have another default.
    ///
    /// # Errors
    ///
    /// As said [above](Self).
    pub fn take_prefix(&mut self) -> Result<Option<String>> {
        let Some(prefix) = self.take("prefix") else {
            return Ok(None);
        };
        let max = Self::PREFIX_BYTES_MAX;
        if prefix.len() > max {
            let len = prefix.len();
            return Err(self.invalid(format!("prefix has {len} bytes, allowed are at most {max}")));
        }
        Ok(Some(prefix))
    }

    /// A text that is not empty.
    ///
    /// # Errors
    ///
    /// As said [above](Self).
    pub fn take_str(&mut self, key: &'static str) -> Result<Option<String>> {
        match self.take(key) {
            Some(value) if value.is_empty() => {
                Err(self.invalid(format!("{key} is empty; give it a value or leave it out")))
            }
            value => Ok(value),
        }
    }

    /// A secret that is not empty. `key` has the word `password`, `passphrase` or `secret` in it,
    /// by which all that print URLs know to mask the value.
    ///
    /// # Errors
    ///
    /// As said [above](Self), but without the value.
    pub fn take_secret(&mut self, key: &'static str) -> Result<Option<Secret>> {
        debug_assert!(is_secret_key(key), "the value of {key:?} would be printed");
        Ok(self.take_str(key)?.map(Secret::new))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    ///
    /// As said [above](Self).
    pub fn take_bool(&mut self, key: &'static str) -> Result<Option<bool>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        match &*value {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(self.invalid_value(key, &value, "allowed are true and false")),
        }
    }

    /// A whole number within `allowed`.
    ///
    /// # Errors
    ///
    /// As said [above](Self).
    pub fn take_u64(
        &mut self,
        key: &'static str,
        allowed: RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let digits = value.bytes().all(|b| b.is_ascii_digit());
        match value.parse() {
            Ok(number) if digits && allowed.contains(&number) => Ok(Some(number)),
            _ => {
                let (min, max) = allowed.into_inner();
                let why = format!("allowed are whole numbers from {min} to {max}");
                Err(self.invalid_value(key, &value, &why))
            }
        }
    }

    /// A time within `allowed`, with its unit: `10s`, `500ms`, `1m 30s`.
    ///
    /// # Errors
    ///
    /// As said [above](Self). A bare number is refused too: nobody can see whether `ttl=5` means
    /// seconds or milliseconds.
    pub fn take_duration(
        &mut self,
        key: &'static str,
        allowed: RangeInclusive<Duration>,
    ) -> Result<Option<Duration>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            let why = format!("a time needs a unit, as in {value}s or {value}ms");
            return Err(self.invalid_value(key, &value, &why));
        }
        match humantime::parse_duration(&value) {
            Ok(duration) if allowed.contains(&duration) => Ok(Some(duration)),
            Ok(_) => Err(self.invalid_value(key, &value, &bounds(&allowed))),
            Err(_) => {
                let why = "a time is a number with its unit, as in 10s, 500ms or 1m";
                Err(self.invalid_value(key, &value, why))
            }
        }
    }

    fn invalid_value(&self, key: &str, value: &str, why: &str) -> Error {
        let value = if is_secret_key(key) { MASK } else { value };
        self.invalid(format!("{key}={value}: {why}"))
    }
}

fn bounds(allowed: &RangeInclusive<Duration>) -> String {
    let [min, max] = [allowed.start(), allowed.end()].map(|end| humantime::format_duration(*end));
    format!("allowed are {min} to {max}")
}

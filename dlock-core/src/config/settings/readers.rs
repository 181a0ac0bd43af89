//! Typed readers of settings, with bounds, and with errors that name both.

use std::{ops::RangeInclusive, time::Duration};

use super::{CommonSettings, Settings};
use crate::{
    base::{
        error::{Error, Result},
        range::{out_of_range, time_out_of_range},
    },
    client::{builder::LockerBuilder, options::too_long_to_guard},
    config::{
        check::check_prefix,
        secret::{Secret, is_secret_key},
        url::masked_value,
    },
};

impl Settings {
    /// Reads the keys that mean the same for all backends.
    pub(super) fn take_common(&mut self) -> Result<CommonSettings> {
        let ttl = CommonSettings::TTL_MIN..=CommonSettings::TTL_MAX;
        let waits = Duration::ZERO..=CommonSettings::WAIT_MAX;
        Ok(CommonSettings {
            ttl: self.take_duration("ttl", ttl)?,
            wait: self.take_duration("wait", waits.clone())?,
            connect_wait: self.take_duration("connect_wait", waits)?,
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
                let ttl = humantime::format_duration(ttl);
                Err(self.invalid(time_out_of_range("ttl", ttl, &allowed)))
            }
            _ => Ok(()),
        }
    }

    /// Takes the key `restart_guard`: how long the store grants nothing after it may have forgotten its locks.
    ///
    /// For backends that wait then. From zero, which turns the wait off, to `max`. By default the `ttl`, but
    /// not less than a locker's default ttl. The value becomes
    /// [`Capabilities::restart_guard`](crate::Capabilities::restart_guard), so a longer ttl in the code is
    /// refused, too.
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

    /// Takes the common key `prefix`, the prefix of all names in the store.
    ///
    /// For backends whose stores have one name space. At most [`Settings::PREFIX_BYTES_MAX`] bytes; may be
    /// empty, for backends that have another default.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the prefix is too long.
    pub fn take_prefix(&mut self) -> Result<Option<String>> {
        let Some(prefix) = self.take("prefix") else {
            return Ok(None);
        };
        check_prefix(&prefix, Self::PREFIX_BYTES_MAX).map_err(|error| self.invalid(error))?;
        Ok(Some(prefix))
    }

    /// Takes a text that is not empty.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the value is empty.
    pub fn take_str(&mut self, key: &'static str) -> Result<Option<String>> {
        match self.take(key) {
            Some(value) if value.is_empty() => {
                Err(self.invalid(format!("{key} is empty; give it a value or leave it out")))
            }
            value => Ok(value),
        }
    }

    /// Takes a secret that is not empty.
    ///
    /// `key` has the word `password`, `passphrase` or `secret` in it: values of such keys are masked wherever
    /// the URL is printed.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the value is empty; the message does not have it.
    pub fn take_secret(&mut self, key: &'static str) -> Result<Option<Secret>> {
        debug_assert!(is_secret_key(key), "the value of {key:?} would be printed");
        Ok(self.take_str(key)?.map(Secret::new))
    }

    /// Takes `true` or `false`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the value is neither.
    pub fn take_bool(&mut self, key: &'static str) -> Result<Option<bool>> {
        self.take_choice(key, [("true", true), ("false", false)])
    }

    /// Takes one of the `allowed` words, and returns its meaning.
    ///
    /// ```
    /// use dlock_core::config::{Config, Settings};
    ///
    /// let config = Config::from_url("redis://db-1?format=xml")?;
    /// let allowed = [("escaped", 1), ("plain", 2)];
    /// let error = Settings::of(&config)?.take_choice("format", allowed).unwrap_err();
    /// assert!(error.to_string().contains("format=xml: allowed are escaped and plain"));
    /// # Ok::<(), dlock_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for any other word, with the allowed ones.
    pub fn take_choice<T, const N: usize>(
        &mut self,
        key: &'static str,
        allowed: [(&'static str, T); N],
    ) -> Result<Option<T>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let words = allowed.each_ref().map(|(word, _)| *word);
        let chosen = allowed.into_iter().find(|(word, _)| *word == value);
        match (chosen, words.split_last()) {
            (Some((_, meaning)), _) => Ok(Some(meaning)),
            (None, Some((last, others))) => {
                let why = format!("allowed are {} and {last}", others.join(", "));
                Err(self.invalid_value(key, &value, &why))
            }
            (None, None) => Err(self.invalid_value(key, &value, "no value is allowed")),
        }
    }

    /// Takes a whole number within `allowed`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the value is malformed or out of range.
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
            Ok(number) if digits => Err(self.invalid(out_of_range(key, number, &allowed))),
            _ => {
                let (min, max) = allowed.into_inner();
                let why = format!("allowed are whole numbers from {min} to {max}");
                Err(self.invalid_value(key, &value, &why))
            }
        }
    }

    /// Takes a time within `allowed`, with its unit: `10s`, `500ms`, `1m 30s`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` if the value is malformed or out of range. A number without a unit is malformed:
    /// `ttl=5` could mean seconds or milliseconds.
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
            Ok(_) => Err(self.invalid(time_out_of_range(key, &value, &allowed))),
            Err(_) => {
                let why = "a time is a number with its unit, as in 10s, 500ms or 1m";
                Err(self.invalid_value(key, &value, why))
            }
        }
    }

    fn invalid_value(&self, key: &str, value: &str, why: &str) -> Error {
        let value = masked_value(key, value);
        self.invalid(format!("{key}={value}: {why}"))
    }
}

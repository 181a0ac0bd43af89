//! The record of a server's history: a key of dlock's own, without a ttl.

use std::time::Duration;

use dlock_core::Result;

use crate::{config::Options, errors, keys::Format};

/// How a history began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Began {
    /// The server had no record.
    New,
    /// The record was of another run, and the server's uptime was below the guard.
    Restart,
    /// The record was of another run, and the server had been up for longer: it was promoted.
    Failover,
}

impl Began {
    /// How a history begins whose record is of another run.
    pub(super) fn after(uptime: Duration, options: &Options) -> Self {
        // Other clients read this, too, so a client without a guard goes by the default.
        let guard = match options.restart_guard {
            Duration::ZERO => Options::RESTART_GUARD,
            guard => guard,
        };
        if uptime < guard {
            Self::Restart
        } else {
            Self::Failover
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Restart => "restart",
            Self::Failover => "failover",
        }
    }

    fn parse(word: &str) -> Self {
        let all = [Self::New, Self::Failover];
        // A word of a later release gets the longest guard.
        let known = all.into_iter().find(|began| began.as_str() == word);
        known.unwrap_or(Self::Restart)
    }

    /// How long a history that began so grants nothing.
    pub(super) fn guard(self, options: &Options) -> Duration {
        match self {
            Self::New | Self::Restart => options.restart_guard,
            Self::Failover => options.failover_guard(),
        }
    }
}

/// The words of a record: layout, run, begin in microseconds of the server's clock, how it began, run of the
/// record before it. Later releases may add words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) run: String,
    pub(super) since: u64,
    pub(super) began: Began,
    pub(super) former_run: String,
}

impl Record {
    /// `InvalidConfig` for another layout, or another format.
    pub(super) fn parse(text: &str, format: Format) -> Result<Self> {
        let mut words = text.split(' ');
        format
            .layout()
            .check("redis", words.next().unwrap_or_default())?;
        let parsed = (|| {
            Some(Self {
                run: words.next()?.to_owned(),
                since: words.next()?.parse().ok()?,
                began: Began::parse(words.next()?),
                former_run: words.next()?.to_owned(),
            })
        })();
        parsed.ok_or_else(|| errors::unexpected_reply(format!("the record {text:?}")))
    }
}

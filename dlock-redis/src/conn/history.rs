//! Whether a server's data remembers what was granted (T14).
//!
//! A key of ours, the *record*, says in which run of the server the present history began, and when by its
//! clock. It has no end. If it is missing, or is another run's, locks may have been forgotten: by a restart, a
//! wiped disk, an emptied or lagging replica that was promoted, `FLUSHALL`. Then a new history begins, and
//! for a while nothing is granted.

use std::{collections::HashSet, time::Duration};

use dlock_core::{BootInstant, Error, ErrorKind, Result};
use redis::{Value, aio::MultiplexedConnection};

use crate::{
    config::options::RedisOptions,
    conn::probe::Server,
    errors,
    keys::slots::SLOTS,
    keys::{self, LAYOUT},
    scripts,
};

/// The server's uptime is in whole seconds, of a clock that counts them from elsewhere: it may be
/// this much less.
const UPTIME_ERROR: Duration = Duration::from_secs(1);

/// A Cluster's master has its record in the first and the last slot of so many ranges of slots, so that a
/// slot that moves away seldom takes the last one along.
const RANGES_MAX: usize = 4;

/// How much the clocks of two servers may differ, and a rate be wrong, before one server is taken for two.
const CLOCK_ERROR: Duration = Duration::from_secs(5);

/// So long after the last answer of the former server the one that answers now is its successor.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a history began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Began {
    /// There was no record.
    New,
    /// The record was of another run, and the server had been up for less than the guard.
    Restart,
    /// The record was of another run, and the server had been up for longer: it took over.
    Failover,
}

impl Began {
    fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Restart => "restart",
            Self::Failover => "failover",
        }
    }

    fn of_word(word: &str) -> Self {
        let all = [Self::New, Self::Failover];
        // A word of a later release is waited for as the longest.
        let known = all.into_iter().find(|began| began.word() == word);
        known.unwrap_or(Self::Restart)
    }

    fn guard(self, options: &RedisOptions) -> Duration {
        match self {
            Self::New | Self::Restart => options.restart_guard,
            Self::Failover => options.failover_guard(),
        }
    }
}

/// What stands in the server: layout, run, since when in microseconds of the server's clock, how it began, run of
/// the record before it; words after these are of later releases.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    run: String,
    since: u64,
    began: Began,
    former: String,
}

impl Record {
    fn parse(text: &str) -> Result<Self> {
        let mut words = text.split(' ');
        LAYOUT.check("redis", words.next().unwrap_or_default())?;
        let parsed = (|| {
            Some(Self {
                run: words.next()?.to_owned(),
                since: words.next()?.parse().ok()?,
                began: Began::of_word(words.next()?),
                former: words.next()?.to_owned(),
            })
        })();
        parsed.ok_or_else(|| scripts::nonsense(format!("the record {text:?}")))
    }
}

/// The history of a server, as it was when a connection to it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// The keys that may have the record, and what it says.
    pub(crate) places: Vec<String>,
    pub(crate) text: String,
    record: Record,
    /// What the server's clock showed, in microseconds.
    now: u64,
    /// Whether it began with this connection.
    is_new: bool,
}

/// A server that a client was in contact with.
#[derive(Clone, Debug)]
pub(crate) struct Former {
    pub(crate) history: History,
    /// When it answered last.
    pub(crate) contact: BootInstant,
}

impl History {
    /// Looks at the record, and begins a new history if there is none of this run of the server.
    ///
    /// `InvalidConfig` for another layout; `Unavailable` when it cannot be written.
    pub(crate) async fn look(
        connection: &mut MultiplexedConnection,
        server: &Server,
        options: &RedisOptions,
        slots: Option<&[(u16, u16)]>,
        least: u64,
    ) -> Result<Self> {
        let mut places = places(&options.prefix, slots);
        let counter = slots
            .is_none()
            .then(|| keys::counter(&options.prefix, None));
        let up = server.up.saturating_sub(UPTIME_ERROR);
        // The word is for others, too, so who waits for nothing says it by the default.
        let young = match options.restart_guard {
            Duration::ZERO => RedisOptions::RESTART_GUARD,
            guard => guard,
        };
        let follows = if up < young {
            Began::Restart
        } else {
            Began::Failover
        };
        let mut tries = places.len();
        let answer: Vec<Value> = loop {
            let [first, others @ ..] = &places[..] else {
                return Err(Error::new(ErrorKind::Unavailable, errors::NO_SLOTS));
            };
            let mut call = scripts::LOOK.call(true, 1 + usize::from(counter.is_some()));
            call.arg(first).arg(&counter);
            call.arg(LAYOUT.to_string())
                .arg(server.run())
                .arg(follows.word())
                .arg(least)
                .arg(others);
            tries -= 1;
            match call
                .query_async(connection)
                .await
                .map_err(errors::of_request)
            {
                // Its slot is about to leave this node.
                Err(error) if tries > 0 && errors::redirect(&error).is_some() => {
                    places.rotate_left(1)
                }
                answer => break answer?,
            }
        };
        let text = |index: usize| -> Result<String> {
            let value = answer.get(index).cloned().unwrap_or(Value::Nil);
            redis::from_redis_value(value).map_err(scripts::nonsense)
        };
        let now = text(0)?.parse().map_err(scripts::nonsense)?;
        // Nothing but this says that the layout is another one.
        if answer.len() == 2 {
            Record::parse(&text(1)?)?;
        }
        let current = text(2)?;
        Ok(Self {
            places,
            record: Record::parse(&current)?,
            text: current,
            now,
            is_new: matches!(answer.get(3), Some(Value::Int(1))),
        })
    }

    /// For how long nothing is granted from now on. It began in the future if the clock was set back:
    /// then it is never longer than the whole guard.
    pub(crate) fn guarded(&self, options: &RedisOptions) -> Duration {
        self.record.began.guard(options).saturating_sub(self.age())
    }

    /// Why nothing is granted for `wait`.
    pub(crate) fn why(&self, wait: Duration) -> Error {
        let (what, key) = match self.record.began {
            Began::New => (
                "the server has no record of dlock: it is new to it, or has forgotten everything",
                "restart_guard",
            ),
            Began::Restart => (
                "the server was restarted and may have forgotten locks",
                "restart_guard",
            ),
            Began::Failover => (
                "another server has taken over and may lack the last locks",
                "failover_guard",
            ),
        };
        let secs = wait.as_secs() + 1;
        let why = format!(
            "{what}; it grants none for {secs} s more (as {key}= says; {key}=0s turns that off, for tests)"
        );
        Error::new(ErrorKind::Unavailable, why)
    }

    /// Whether this server and the `former` one, which this client has seen at the same address, must be two that
    /// know nothing of each other: the history here had begun before the other one's last answer, and
    /// does not follow it.
    pub(crate) fn is_beside(&self, former: &Former, now: BootInstant) -> bool {
        let known = &former.history.record;
        let silent = now.since(former.contact);
        // One that begins now is guarded, and one that follows ours is, too.
        !self.is_new
            && self.record.run != known.run
            && self.record.former != known.run
            && self.age() > silent + CLOCK_ERROR
            && silent <= PATIENCE
    }

    fn age(&self) -> Duration {
        Duration::from_micros(self.now.saturating_sub(self.record.since))
    }
}

/// Where the record is: in a Cluster in the first and the last slot of the node's ranges.
fn places(prefix: &str, slots: Option<&[(u16, u16)]>) -> Vec<String> {
    let Some(ranges) = slots else {
        return vec![keys::record(prefix, None)];
    };
    let mut seen = HashSet::new();
    let ends = ranges.iter().take(RANGES_MAX).flat_map(|&(a, b)| [a, b]);
    let ends = ends.filter(|slot| *slot < SLOTS && seen.insert(*slot));
    ends.map(|slot| keys::record(prefix, Some(slot))).collect()
}

//! One grant of a history.

use std::fmt;

/// One acquire that succeeded. Times are nanoseconds on the boot-time clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// The lock.
    pub name: String,
    /// The client that holds it.
    pub client: u32,
    /// The number of the attempt among those of its client.
    pub op: u64,
    /// Whether others may hold it too.
    pub shared: bool,
    /// The time at which the acquire was called.
    pub requested: u64,
    /// The time at which it returned: the start of the interval in which the guard calls itself held.
    pub from: u64,
    /// The end of that interval: the first of the release, the last reported deadline, the loss and
    /// the death of the process.
    pub to: u64,
    /// The token.
    pub token: u64,
}

impl Grant {
    /// Whether the guard called itself held at any time.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.from < self.to
    }

    /// Whether both are held at the same time, although they exclude each other.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !(self.shared && other.shared) && self.from < other.to && other.from < self.to
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client,
            op,
            requested,
            from,
            to,
            token,
            ..
        } = self;
        let mode = if self.shared { "shared" } else { "exclusive" };
        write!(f, "client {client} attempt {op} ({mode}, token {token}, ")?;
        write!(
            f,
            "requested {}, held {} to {})",
            Seconds(*requested),
            Seconds(*from),
            Seconds(*to)
        )
    }
}

/// Nanoseconds, printed as seconds.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == u64::MAX {
            return f.write_str("its end");
        }
        write!(
            f,
            "{}.{:06} s",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000 / 1_000
        )
    }
}

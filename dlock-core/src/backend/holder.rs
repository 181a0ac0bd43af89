//! The holder of a lock, as a store keeps it and people read it.

use std::{fmt, sync::OnceLock, time::Duration};

use crate::{
    backend::{attempt::AttemptId, options::Mode, request::AcquireRequest},
    base::{system, token::Token},
};

/// The holder of a lock, as far as its store knows. For people: it is out of date when it arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Holder {
    /// The attempt that holds the lock; `None` for a client other than dlock.
    pub attempt: Option<AttemptId>,
    /// The token of the grant.
    pub token: Option<Token>,
    /// Exclusive or shared; of several shared holders, this is one.
    pub mode: Mode,
    /// The name of the holder's machine.
    pub host: Option<String>,
    /// The id of the holder's process.
    pub pid: Option<u32>,
    /// The time of the grant, in microseconds since 1970 by the holder's own clock.
    pub since_unix_micros: Option<u64>,
    /// The note of the acquire.
    pub note: Option<String>,
    /// The time left without a renewal; `None` if the hold has no end or the end is unknown.
    pub remaining: Option<Duration>,
    /// A warning about something unusual with this lock, in a sentence for people.
    pub warning: Option<String>,
}

impl Holder {
    /// Makes a holder of which nothing is known: another client library.
    #[must_use]
    pub fn foreign() -> Self {
        Self::default()
    }

    /// Makes the holder that `request` becomes when it is granted with `token`: this process.
    #[must_use]
    pub fn from_request(request: &AcquireRequest, token: Token) -> Self {
        Self {
            attempt: Some(request.attempt.id()),
            token: Some(token),
            mode: request.mode,
            since_unix_micros: Some(request.clock().unix_micros()),
            note: request.note.as_deref().map(str::to_owned),
            ..Self::this_process()
        }
    }

    /// Writes `SINCE PID@HOST NOTE`, the part after attempt and token in the line of the holder that `request`
    /// becomes when it is granted. It is for stores that give the token themselves.
    ///
    /// ```
    /// use dlock_core::{backend::AcquireRequest, Holder};
    ///
    /// fn value(request: &AcquireRequest, token: u64) -> String {
    ///     let tail = Holder::encode_tail(request);
    ///     format!("{} {token} {tail}", request.attempt.id())
    /// }
    /// ```
    #[must_use]
    pub fn encode_tail(request: &AcquireRequest) -> String {
        let tail = Tail {
            since: request.clock().unix_micros(),
            pid: pid(),
            host: host_name(),
            note: request.note.as_deref(),
        };
        tail.to_string()
    }

    /// Writes `ATTEMPT SINCE PID@HOST NOTE`: for stores that keep the token elsewhere, such as a revision.
    #[must_use]
    pub fn encode_without_token(request: &AcquireRequest) -> String {
        let tail = Self::encode_tail(request);
        format!("{} {tail}", request.attempt.id())
    }

    /// Reads what [`encode_without_token`](Self::encode_without_token) wrote; anything else is of a
    /// [foreign](Self::foreign) holder.
    #[must_use]
    pub fn decode_with_token(line: &[u8], token: Token) -> Self {
        let line = String::from_utf8_lossy(line);
        let whole = line
            .split_once(' ')
            .map(|(attempt, tail)| format!("{attempt} {token} {tail}"));
        let holder = whole.and_then(|whole| Self::parse(&whole));
        Self {
            token: Some(token),
            ..holder.unwrap_or_else(Self::foreign)
        }
    }

    /// Makes a holder of this process, without a lock.
    pub(crate) fn this_process() -> Self {
        Self {
            host: Some(host_name().to_owned()),
            pid: Some(pid()),
            ..Self::default()
        }
    }

    /// Reads what [`Holder`]'s `Display` wrote; `None` for anything else.
    ///
    /// ```
    /// use dlock_core::Holder;
    ///
    /// let line = "4f0000000000000000000000000000a1 77 1780000000000000 4711@web-3 checkout 77";
    /// let holder = Holder::parse(line).unwrap();
    /// assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    /// assert_eq!(holder.to_string(), line);
    /// assert_eq!(Holder::parse("something else"), None);
    /// ```
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(5, ' ');
        let attempt = words.next().filter(|word| word.len() == 32)?;
        let attempt = AttemptId::from_u128(u128::from_str_radix(attempt, 16).ok()?);
        let token = Token::new(words.next()?.parse().ok()?)?;
        let since = words.next()?.parse().ok()?;
        let (pid, host) = words.next()?.split_once('@')?;
        Some(Self {
            attempt: Some(attempt),
            token: Some(token),
            mode: Mode::Exclusive,
            host: Some(host.to_owned()),
            pid: Some(pid.parse().ok()?),
            since_unix_micros: Some(since),
            note: words
                .next()
                .filter(|note| !note.is_empty())
                .map(str::to_owned),
            remaining: None,
            warning: None,
        })
    }
}

impl fmt::Display for Holder {
    /// One line, `ATTEMPT TOKEN SINCE PID@HOST NOTE`: what backends store as the lock's value. The
    /// attempt comes first, so that a store can compare it as a prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(attempt), Some(token)) = (self.attempt, self.token) else {
            return f.write_str("another client");
        };
        let tail = Tail {
            since: self.since_unix_micros.unwrap_or(0),
            pid: self.pid.unwrap_or(0),
            host: self.host.as_deref().unwrap_or("?"),
            note: self.note.as_deref(),
        };
        write!(f, "{attempt} {token} {tail}")
    }
}

/// The part of the line that people read.
struct Tail<'a> {
    since: u64,
    pid: u32,
    host: &'a str,
    note: Option<&'a str>,
}

impl fmt::Display for Tail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}@{}", self.since, self.pid, self.host)?;
        self.note.map_or(Ok(()), |note| write!(f, " {note}"))
    }
}

/// The id of this process, cached: a system call each time costs as much as the rest of an acquire.
fn pid() -> u32 {
    static PID: OnceLock<u32> = OnceLock::new();
    *PID.get_or_init(std::process::id)
}

/// The name of this machine, without characters that would break a line.
fn host_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let plain = |c: char| {
            if c.is_control() || c.is_whitespace() {
                '?'
            } else {
                c
            }
        };
        system::host_name().chars().map(plain).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::*;
    use crate::{
        backend::{
            options::Wait,
            request::{Background, Undo},
        },
        base::{
            clock::{BootInstant, Clock},
            name::LockName,
        },
    };

    #[derive(Debug)]
    struct NoBackground;

    impl Background for NoBackground {
        fn undo(self: Arc<Self>, _: BootInstant, _: Undo) -> oneshot::Receiver<()> {
            oneshot::channel().1
        }
    }

    #[test]
    fn attempt_token_and_tail_are_the_line_of_a_holder() {
        let (name, ttl) = (LockName::new("a").expect("name"), Duration::from_secs(1));
        let (background, clock) = (Arc::new(NoBackground), Clock::boottime());
        let mut request = AcquireRequest::new(background, clock, name, ttl, Wait::Never);
        for note in [None, Some("checkout 77")] {
            request.note = note.map(Arc::from);
            let tail = Holder::encode_tail(&request);
            let line = format!("{} 7 {tail}", request.attempt.id());
            let holder = Holder::parse(&line).expect("a holder");
            assert_eq!(holder.to_string(), line);
            assert_eq!(holder.note.as_deref(), note);
            let token = Token::new(7).expect("token");
            let bare = Holder::encode_without_token(&request);
            let read = Holder::decode_with_token(bare.as_bytes(), token);
            // Encoded at another time.
            let since_unix_micros = holder.since_unix_micros;
            assert_eq!(
                Holder {
                    since_unix_micros,
                    ..read
                },
                holder
            );
            let (pid, host) = (std::process::id(), host_name());
            assert!(tail.contains(&format!(" {pid}@{host}")), "{tail}");
        }
    }
}

//! The holder of a lock, as a store keeps it and people read it.

use std::{sync::OnceLock, time::Duration};

use crate::{
    backend::{attempt_id::AttemptId, options::Mode, request::AcquireRequest},
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

    /// Writes the holder that `request` becomes when it is granted, in the one form that stores keep:
    ///
    /// ```text
    /// ATTEMPT [TOKEN] SINCE PID@HOST [NOTE]
    /// ```
    ///
    /// The attempt comes first, so that a store can compare it as a prefix: 32 hexadecimal digits. A `token` of
    /// `None` is left out, for stores that keep it elsewhere, such as a revision. So may a script in the store insert
    /// the token that it gives.
    ///
    /// ```
    /// use dlock_core::{Holder, Token, backend::AcquireRequest};
    ///
    /// fn value(request: &AcquireRequest, token: Token) {
    ///     let value = Holder::encode(request, Some(token));
    ///     let holder = Holder::decode(value.as_bytes(), None);
    ///     assert_eq!(holder.attempt, Some(request.attempt.id()));
    ///     assert_eq!(holder.token, Some(token));
    /// }
    /// ```
    #[must_use]
    pub fn encode(request: &AcquireRequest, token: Option<Token>) -> String {
        let (process, note) = (process(), request.note.as_deref());
        let length = ATTEMPT_AND_NUMBERS_MAX + process.len() + 1 + note.map_or(0, str::len);
        // Each acquire does it: `fmt` takes four times as long.
        let mut line = String::with_capacity(length);
        let mut digits = itoa::Buffer::new();
        let id = request.attempt.id();
        id.with_digits(|digits| line.push_str(digits));
        line.push(' ');
        if let Some(token) = token {
            line.push_str(digits.format(token.get()));
            line.push(' ');
        }
        line.push_str(digits.format(request.clock().unix_micros()));
        line.push(' ');
        line.push_str(process);
        if let Some(note) = note {
            line.push(' ');
            line.push_str(note);
        }
        line
    }

    /// Reads what [`encode`](Self::encode) wrote, with or without a token. Anything else is of a
    /// [foreign](Self::foreign) holder: other clients may write any bytes.
    ///
    /// `token` is that of a store that keeps it elsewhere, and counts before that of the line.
    ///
    /// ```
    /// use dlock_core::{Holder, Token};
    ///
    /// let line = b"4f0000000000000000000000000000a1 77 1780000000000000 4711@web-3 checkout 77";
    /// let holder = Holder::decode(line, None);
    /// assert_eq!(holder.token, Token::new(77));
    /// assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    ///
    /// let line = b"4f0000000000000000000000000000a1 1780000000000000 4711@web-3 checkout 77";
    /// assert_eq!(Holder::decode(line, Token::new(77)), holder);
    /// assert_eq!(Holder::decode(b"something else", None), Holder::foreign());
    /// ```
    #[must_use]
    pub fn decode(line: &[u8], token: Option<Token>) -> Self {
        let line = String::from_utf8_lossy(line);
        let holder = Self::read(&line).unwrap_or_default();
        Self {
            token: token.or(holder.token),
            ..holder
        }
    }

    /// Reads a line of dlock.
    fn read(line: &str) -> Option<Self> {
        let (attempt, rest) = line.split_once(' ')?;
        let attempt = u128::from_str_radix(Some(attempt).filter(|word| word.len() == 32)?, 16);
        let (first, after) = rest.split_once(' ')?;
        // The time is before the process, whose word alone has an `@`.
        let is_process = after.split(' ').next()?.contains('@');
        let (token, rest) = match is_process {
            true => (None, rest),
            false => (Some(Token::new(first.parse().ok()?)?), after),
        };
        let mut words = rest.splitn(3, ' ');
        let since = words.next()?.parse().ok()?;
        let (pid, host) = words.next()?.split_once('@')?;
        let note = words.next().filter(|note| !note.is_empty());
        Some(Self {
            attempt: Some(AttemptId::from_u128(attempt.ok()?)),
            token,
            host: Some(host.to_owned()),
            pid: Some(pid.parse().ok()?),
            since_unix_micros: Some(since),
            note: note.map(str::to_owned),
            ..Self::default()
        })
    }

    /// Makes a holder of this process, without a lock.
    #[must_use]
    pub fn this_process() -> Self {
        Self {
            host: Some(host_name().to_owned()),
            pid: Some(pid()),
            ..Self::default()
        }
    }
}

/// The length of the words before the process, with a space after each: 32 hexadecimal digits, and two numbers.
const ATTEMPT_AND_NUMBERS_MAX: usize = 33 + 21 + 21;

/// This process: `PID@HOST`.
fn process() -> &'static str {
    static PROCESS: OnceLock<String> = OnceLock::new();
    PROCESS.get_or_init(|| format!("{}@{}", pid(), host_name()))
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
    fn the_line_is_read_with_the_token_in_it_and_beside_it() {
        let (name, ttl) = (LockName::new("a").expect("name"), Duration::from_secs(1));
        let (background, clock) = (Arc::new(NoBackground), Clock::boottime());
        let mut request = AcquireRequest::new(background, clock, name, ttl, Wait::Never);
        let token = Token::new(7).expect("token");
        // A note may have words like those before it.
        for note in [None, Some("checkout 77"), Some("1@a 2 3@b")] {
            request.note = note.map(Arc::from);
            let expected = Holder::from_request(&request, token);
            let inside = Holder::encode(&request, Some(token));
            let beside = Holder::encode(&request, None);
            assert!(inside.starts_with(&format!("{} 7 ", request.attempt.id())));
            for found in [
                Holder::decode(inside.as_bytes(), None),
                Holder::decode(beside.as_bytes(), Some(token)),
            ] {
                // Each was made at a time of its own.
                let since_unix_micros = expected.since_unix_micros;
                let found = Holder {
                    since_unix_micros,
                    ..found
                };
                assert_eq!(found, expected);
            }
        }
    }

    /// The bytes that stores have.
    #[test]
    fn each_word_has_its_place() {
        let line = "4f0000000000000000000000000000a1 77 1780000000000000 4711@web-3 checkout 77";
        let holder = Holder::decode(line.as_bytes(), None);
        let expected = Holder {
            attempt: Some(AttemptId::from_u128(
                0x4f00_0000_0000_0000_0000_0000_0000_00a1,
            )),
            token: Token::new(77),
            host: Some("web-3".to_owned()),
            pid: Some(4711),
            since_unix_micros: Some(1_780_000_000_000_000),
            note: Some("checkout 77".to_owned()),
            ..Holder::default()
        };
        assert_eq!(holder, expected);
        let other = Token::new(78);
        assert_eq!(Holder::decode(line.as_bytes(), other).token, other);
    }

    #[test]
    fn anything_else_is_of_another_client() {
        for line in [
            "",
            "another client",
            "4f 77 1780000000000000 4711@web-3",
            "4f0000000000000000000000000000a1 0 1780000000000000 4711@web-3",
            "4f0000000000000000000000000000a1 77 1780000000000000",
            "4f0000000000000000000000000000a1 77 then 4711@web-3",
            "4f0000000000000000000000000000a1 then 4711@web-3",
        ] {
            assert_eq!(
                Holder::decode(line.as_bytes(), None),
                Holder::foreign(),
                "{line:?}"
            );
        }
        let token = Token::new(7);
        let foreign = Holder::decode(b"\xff\n", token);
        assert_eq!((foreign.attempt, foreign.token), (None, token));
    }
}

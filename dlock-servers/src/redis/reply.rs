//! Replies of a server (RESP2).

use std::io;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has no more")]
pub enum Reply {
    /// A reply without a value.
    Nil,
    /// A number.
    Int(i64),
    /// A status or a string.
    Text(String),
    /// Several.
    Array(Vec<Self>),
    /// A refusal.
    Error(String),
}

impl Reply {
    /// The text.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn text(self) -> io::Result<String> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(io::Error::other(format!("not a text: {other:?}"))),
        }
    }

    /// The number.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn int(self) -> io::Result<i64> {
        match self {
            Self::Int(number) => Ok(number),
            other => Err(io::Error::other(format!("not a number: {other:?}"))),
        }
    }

    /// The parts.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn array(self) -> io::Result<Vec<Self>> {
        match self {
            Self::Array(parts) => Ok(parts),
            other => Err(io::Error::other(format!("not an array: {other:?}"))),
        }
    }

    /// Takes one from the front of `bytes`; `None` while it is not complete.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub(super) fn take(bytes: &mut &[u8]) -> io::Result<Option<Self>> {
        let mut rest = *bytes;
        let reply = Self::parse(&mut rest)?;
        if reply.is_some() {
            *bytes = rest;
        }
        Ok(reply)
    }

    fn parse(bytes: &mut &[u8]) -> io::Result<Option<Self>> {
        let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
            return Ok(None);
        };
        let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
        *bytes = &bytes[end + 2..];
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| broken(&line))?;
        let number = || rest.parse::<i64>().map_err(|_| broken(&line));
        Ok(Some(match kind {
            "+" => Self::Text(rest.to_owned()),
            "-" => Self::Error(rest.to_owned()),
            ":" => Self::Int(number()?),
            "$" => match usize::try_from(number()?) {
                Err(_) => Self::Nil,
                Ok(length) if bytes.len() < length + 2 => return Ok(None),
                Ok(length) => {
                    let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                    *bytes = &bytes[length + 2..];
                    Self::Text(text)
                }
            },
            "*" => match usize::try_from(number()?) {
                Err(_) => Self::Nil,
                Ok(count) => {
                    let parts = (0..count).map(|_| Self::parse(bytes));
                    match parts.collect::<io::Result<Option<Vec<_>>>>()? {
                        Some(parts) => Self::Array(parts),
                        None => return Ok(None),
                    }
                }
            },
            _ => return Err(broken(&line)),
        }))
    }
}

fn broken(line: &str) -> io::Error {
    io::Error::other(format!("not a reply: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_taken_when_it_is_complete() {
        let whole = b"*4\r\n$5\r\na\r\nb \r\n:-3\r\n$-1\r\n*1\r\n+OK\r\n";
        let parts = vec![
            Reply::Text("a\r\nb ".to_owned()),
            Reply::Int(-3),
            Reply::Nil,
            Reply::Array(vec![Reply::Text("OK".to_owned())]),
        ];
        for end in 0..whole.len() {
            let mut bytes = &whole[..end];
            assert_eq!(Reply::take(&mut bytes).unwrap(), None, "{end}");
            assert_eq!(bytes.len(), end);
        }
        let mut bytes = &[&whole[..], b"-ERR no\r\n"].concat()[..];
        assert_eq!(Reply::take(&mut bytes).unwrap(), Some(Reply::Array(parts)));
        let refusal = Reply::Error("ERR no".to_owned());
        assert_eq!(Reply::take(&mut bytes).unwrap(), Some(refusal));
        assert!(bytes.is_empty());
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in ["\r\n", "HTTP/1.1 200\r\n", ":x\r\n"] {
            assert!(Reply::take(&mut bytes.as_bytes()).is_err(), "{bytes:?}");
        }
    }
}

//! The servers in a URL.

use std::{fmt, net::Ipv6Addr, str::FromStr};

use super::syntax::{Parsed, invalid};
use crate::base::error::{Error, ErrorKind};

/// A server in a [`BackendUrl`](super::BackendUrl). `Display` writes it as in a URL.
///
/// ```
/// use dlock_core::config::Host;
///
/// let host: Host = "[::1]:6379".parse()?;
/// assert_eq!((&*host.name, host.port), ("::1", Some(6379)));
/// assert_eq!(host.to_string(), "[::1]:6379");
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Host {
    /// A DNS name or an address; an IPv6 address without its brackets.
    pub name: String,
    /// The port, if the URL has one: 1 to 65535.
    pub port: Option<u16>,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]", self.name)?;
        } else {
            f.write_str(&self.name)?;
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Reads `host`, `host:port` or `[address]:port`.
impl FromStr for Host {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse_host(text).map_err(|why| Error::new(ErrorKind::InvalidConfig, why))
    }
}

/// Parses `host,host:port,[address]:port`; an empty text has no hosts.
pub(super) fn parse_hosts(text: &str) -> Parsed<Vec<Host>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(parse_host).collect()
}

impl Host {
    /// As a URL has it, and an IPv6 address also without brackets.
    pub(in crate::config) fn from_text(text: &str) -> Parsed<Self> {
        if text.parse::<Ipv6Addr>().is_ok() {
            let name = text.to_owned();
            return Ok(Self { name, port: None });
        }
        parse_host(text)
    }
}

fn parse_host(text: &str) -> Parsed<Host> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => split_ipv6(rest)?,
        None => split_name(text)?,
    };
    let port = port.map(parse_port).transpose()?;
    Ok(Host {
        name: name.to_owned(),
        port,
    })
}

fn split_ipv6(rest: &str) -> Parsed<(&str, Option<&str>)> {
    let Some((address, port)) = rest.split_once(']') else {
        return invalid("an IPv6 address has no closing \"]\"");
    };
    if address.parse::<Ipv6Addr>().is_err() {
        return invalid("what is in brackets is no IPv6 address");
    }
    match port.strip_prefix(':') {
        Some(port) => Ok((address, Some(port))),
        None if port.is_empty() => Ok((address, None)),
        None => invalid("after \"]\" only \":\" and a port may follow"),
    }
}

fn split_name(text: &str) -> Parsed<(&str, Option<&str>)> {
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (text, None),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if name.is_empty() {
        return invalid("a host is empty");
    }
    if !name.chars().all(allowed) {
        return invalid("a host is a DNS name, an IPv4 address or an IPv6 address in brackets");
    }
    Ok((name, port))
}

fn parse_port(text: &str) -> Parsed<u16> {
    match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(port),
        _ => invalid("a port is a number from 1 to 65535"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_what_was_parsed() {
        for text in [
            "a",
            "a:1",
            "10.0.0.1:65535",
            "[::1]",
            "[fe80::1]:2379",
            "my_host.example",
        ] {
            let hosts = parse_hosts(text).expect(text);
            assert_eq!(
                hosts.iter().map(Host::to_string).collect::<Vec<_>>(),
                [text]
            );
        }
        assert_eq!(parse_hosts("a,b:2,[::1]").map(|hosts| hosts.len()), Ok(3));
        assert_eq!(parse_hosts(""), Ok(Vec::new()));
    }

    #[test]
    fn refusals() {
        const PORT: &str = "a port is a number from 1 to 65535";
        for (text, why) in [
            ("a,,b", "a host is empty"),
            (",", "a host is empty"),
            (":2379", "a host is empty"),
            ("a:", PORT),
            ("a:0", PORT),
            ("a:+1", PORT),
            ("a:65536", PORT),
            ("a:b:1", PORT),
            ("::1", "a host is empty"),
            ("[::1]:", PORT),
            ("[::1", "an IPv6 address has no closing \"]\""),
            ("[::g]", "what is in brackets is no IPv6 address"),
            ("[10.0.0.1]", "what is in brackets is no IPv6 address"),
            ("[::1]2379", "after \"]\" only \":\" and a port may follow"),
            (
                "a!b",
                "a host is a DNS name, an IPv4 address or an IPv6 address in brackets",
            ),
            (
                "%61",
                "a host is a DNS name, an IPv4 address or an IPv6 address in brackets",
            ),
        ] {
            assert_eq!(parse_hosts(text).expect_err(text), why, "{text}");
        }
    }
}

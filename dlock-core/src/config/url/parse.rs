//! The parser of URLs. It says why it refuses; its caller quotes the URL, masked.
//!
//! No message of this file quotes a user, a password, or the text in the place of a port, since that may be
//! a password whose host is missing.

use std::{collections::BTreeMap, str::FromStr};

use super::{
    BackendUrl,
    host::parse_hosts,
    mask::mask,
    syntax::{Parsed, check_key, decode, invalid, unescape},
};
use crate::{
    base::error::{Error, ErrorKind, Result},
    config::{
        secret::{Secret, is_secret_key},
        suggest::scheme_of_port,
    },
};

impl BackendUrl {
    /// Parses `text`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, with the URL (its password masked) and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |why: String| Error::new(ErrorKind::InvalidConfig, why);
        if text.len() > Self::BYTES_MAX {
            let (max, len) = (Self::BYTES_MAX, text.len());
            return Err(invalid(format!(
                "a URL has at most {max} bytes, this one has {len}"
            )));
        }
        parse(text).map_err(|why| invalid(format!("URL {:?}: {why}", mask(text))))
    }
}

impl FromStr for BackendUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

/// Parses `text` of any length, or says why not. It also reads values, to see whether they are URLs with secrets.
pub(super) fn parse(text: &str) -> Parsed<BackendUrl> {
    let (scheme, rest) = split_scheme(text)?;
    if rest.contains(|c: char| c == '#' || c.is_control() || c.is_whitespace()) {
        return invalid("\"#\", spaces and control characters must be percent-encoded");
    }
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let (login, hosts) = match authority.split_once('@') {
        Some((login, hosts)) => (Some(login), hosts),
        None => (None, authority),
    };
    // One rule without exceptions, so that no password with a bare "/" or "?" in it is ever taken
    // for a host and a path, connected to and printed.
    if [hosts, path, query.unwrap_or_default()]
        .iter()
        .any(|part| part.contains('@'))
    {
        return invalid("\"@\" only ends the user and password, elsewhere it is written %40");
    }
    if query.is_some_and(|query| query.contains('?')) {
        return invalid(
            "settings are separated by \"&\"; \"?\" only begins them, elsewhere it is written %3F",
        );
    }
    let (user, password) = parse_login(login)?;
    let hosts = parse_hosts(hosts)?;
    if login.is_some() && hosts.is_empty() {
        return invalid("there is no host after the user and password");
    }
    let path = decode(path, "path")?;
    let params = query.map(parse_params).transpose()?.unwrap_or_default();
    Ok(BackendUrl {
        scheme,
        user,
        password,
        hosts,
        path,
        params,
    })
}

fn split_scheme(text: &str) -> Parsed<(String, &str)> {
    if text.is_empty() {
        return invalid("it is empty");
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return invalid("it has no scheme, as in \"redis://host\" or \"file:/directory\"");
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(allowed) {
        if let Some(meant) = scheme_of_port(rest) {
            return invalid(format!(
                "it does not start with a scheme, such as {meant}://"
            ));
        }
        return invalid("it does not start with a scheme, as in \"redis://host\"");
    }
    Ok((scheme.to_ascii_lowercase(), rest))
}

/// `user`, `user:password` or `:password`. An empty password is refused: it is most likely a
/// variable that was not set, and must not become a login without one.
fn parse_login(login: Option<&str>) -> Parsed<(Option<String>, Option<Secret>)> {
    let Some(login) = login else {
        return Ok((None, None));
    };
    let (user, password) = match login.split_once(':') {
        Some((_, "")) => return invalid("the password is empty; leave it out with its \":\""),
        Some((user, password)) => (user, Some(Secret::new(unescape(password, "password")?))),
        None if login.is_empty() => return invalid("there is no user or password before \"@\""),
        None => (login, None),
    };
    let user = decode(user, "user")?;
    Ok(((!user.is_empty()).then_some(user), password))
}

fn parse_params(query: &str) -> Parsed<BTreeMap<String, String>> {
    let mut params = BTreeMap::new();
    for pair in query.split('&') {
        let Some((key, value)) = pair.split_once('=') else {
            // Not quoted: it may be the rest of a password with a bare "&" in it.
            return invalid(
                "after \"?\" and \"&\" comes key=value; an \"&\" in a value is written %26",
            );
        };
        check_key(key)?;
        let value = if is_secret_key(key) {
            unescape(value, key)?
        } else {
            decode(value, key)?
        };
        if params.insert(key.to_owned(), value).is_some() {
            return invalid(format!("key {key:?} is given twice"));
        }
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::{super::host::Host, *};

    fn hosts(list: &[(&str, Option<u16>)]) -> Vec<Host> {
        let host = |&(name, port): &(&str, _)| Host {
            name: name.to_owned(),
            port,
        };
        list.iter().map(host).collect()
    }

    #[test]
    fn all_parts() {
        let url =
            parse("REDIS://us%3Aer:p%40ss@h-1:6379,[::1]:7000,10.0.0.1/0?ttl=10s&prefix=a%26b+c")
                .expect("url");
        assert_eq!(url.scheme(), "redis");
        assert_eq!(url.user(), Some("us:er"));
        assert_eq!(url.password().map(Secret::expose), Some("p@ss"));
        assert_eq!(
            url.hosts(),
            hosts(&[("h-1", Some(6379)), ("::1", Some(7000)), ("10.0.0.1", None)])
        );
        assert_eq!(url.path(), "/0");
        assert_eq!(url.param("ttl"), Some("10s"));
        assert_eq!(url.param("prefix"), Some("a&b+c"));
        assert_eq!(url.param("wait"), None);
    }

    #[test]
    fn parts_may_be_missing() {
        for (text, hosts_are, path) in [
            ("memory:", &[][..], ""),
            ("file:", &[], ""),
            ("file:/var/lock/app", &[], "/var/lock/app"),
            ("file:///var/lock/app", &[], "/var/lock/app"),
            ("file:/my%20locks/%C3%BC", &[], "/my locks/ü"),
            ("file:relative", &[], "relative"),
            ("redis://", &[], ""),
            (
                "etcd://a:2379,b:2379",
                &[("a", Some(2379)), ("b", Some(2379))],
                "",
            ),
            (
                "zk://h1,h2,h3/chroot",
                &[("h1", None), ("h2", None), ("h3", None)],
                "/chroot",
            ),
        ] {
            let url = parse(text).expect(text);
            assert_eq!(
                (url.hosts(), url.path()),
                (&*hosts(hosts_are), path),
                "{text}"
            );
            assert_eq!((url.user(), url.password()), (None, None), "{text}");
        }
        let url = parse("redis://:pass@h").expect("password without user");
        assert_eq!(
            (url.user(), url.password().map(Secret::expose)),
            (None, Some("pass"))
        );
    }

    #[test]
    fn refusals() {
        const AT: &str = "\"@\" only ends the user and password, elsewhere it is written %40";
        const BARE: &str = "\"#\", spaces and control characters must be percent-encoded";
        const PAIR: &str =
            "after \"?\" and \"&\" comes key=value; an \"&\" in a value is written %26";
        const ESCAPE: &str = "the path has a \"%\" that is no escape; \"%\" is written %25";
        for (text, why) in [
            ("", "it is empty"),
            (
                "/var/lock",
                "it has no scheme, as in \"redis://host\" or \"file:/directory\"",
            ),
            (
                "10.0.0.1:2181",
                "it does not start with a scheme, such as zk://",
            ),
            (
                "10.0.0.1:1",
                "it does not start with a scheme, as in \"redis://host\"",
            ),
            (
                ":x",
                "it does not start with a scheme, as in \"redis://host\"",
            ),
            ("redis://h/a b", BARE),
            ("redis://h/\n", BARE),
            ("redis://u:p#w@h", BARE),
            ("redis://u:p@w@h", AT),
            ("redis://u:12/p@h", AT),
            ("redis://u:12?p=@h", AT),
            ("redis:u:p@h", AT),
            (
                "redis://u:@h",
                "the password is empty; leave it out with its \":\"",
            ),
            ("redis://@h", "there is no user or password before \"@\""),
            (
                "redis://u:p@/0",
                "there is no host after the user and password",
            ),
            ("etcd://a:1,", "a host is empty"),
            ("file:/a%2", ESCAPE),
            ("file:/a%zz", ESCAPE),
            ("file:/a%ff", "the path is not UTF-8 when decoded"),
            ("file:/a%00", "the path has a control character"),
            ("file:?", PAIR),
            (
                "redis://h?prefix=app?token_base=7",
                "settings are separated by \"&\"; \"?\" only begins them, elsewhere it is written %3F",
            ),
            ("file:?ttl=1s&", PAIR),
            ("file:?ttl", PAIR),
            ("redis://h?password=a&b", PAIR),
            (
                "file:?TTL=1s",
                "\"TTL\" is no key: keys are of a-z, 0-9, \"_\" and \"-\"",
            ),
            (
                "file:?=1s",
                "\"\" is no key: keys are of a-z, 0-9, \"_\" and \"-\"",
            ),
            ("file:?ttl=1s&wait=2s&ttl=1s", "key \"ttl\" is given twice"),
        ] {
            assert_eq!(parse(text).expect_err(text), why, "{text}");
        }
    }
}

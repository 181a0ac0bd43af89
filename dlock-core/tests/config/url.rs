//! Properties of URLs: nothing panics, nothing is lost, no password is printed.

use dlock_core::{
    Result,
    config::{BackendUrl, Config, Settings},
};
use proptest::prelude::*;

/// A password is something around this word, so that finding the word is finding the password.
const PASSWORD: &str = "hunter2";

/// Text that is similar enough to a URL to get deep into the parser.
fn url_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("redis"),
        Just(":"),
        Just("//"),
        Just("/"),
        Just("@"),
        Just("?"),
        Just("&"),
        Just("="),
        Just("ttl"),
        Just("%"),
        Just("%41"),
        Just("%ff"),
        Just("["),
        Just("]"),
        Just("::1"),
        Just(","),
        Just("6379"),
        Just("host"),
        Just("ü"),
        Just("#"),
        Just(" "),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A URL that is well-formed, in any spelling, whose password, if there is one, is `***`.
fn url() -> impl Strategy<Value = String> {
    let text = || any::<String>().prop_map(|text| text.replace(char::is_control, "-"));
    let login = (prop::option::of(text()), any::<bool>());
    let hosts = prop::collection::vec(
        ("[a-z][a-z0-9.-]{0,8}|\\[::1\\]", prop::option::of(1u16..)),
        0..4,
    );
    // No key of a secret (`pass`, `pw`, `secret`), whose value is printed masked.
    let key =
        "[a-or-z][a-or-z0-9_-]{0,5}".prop_filter("of a secret", |key| !key.contains("secret"));
    // Neither has a login, query or host of a nested URL, which may be printed masked.
    let value = text().prop_map(|text| text.replace(['@', '?', '/'], "-"));
    let params = prop::collection::btree_map(key, value, 0..4);
    let path = text().prop_map(|text| text.replace("://", "-"));
    (login, hosts, path, params).prop_map(|((user, password), hosts, path, params)| {
        let mut url = String::from("redis://");
        if !hosts.is_empty() && (password || user.as_ref().is_some_and(|user| !user.is_empty())) {
            let password = if password { ":***" } else { "" };
            url += &format!("{}{password}@", percent_encoded(&user.unwrap_or_default()));
        }
        let hosts = hosts.into_iter().map(|(name, port)| match port {
            Some(port) => format!("{name}:{port}"),
            None => name,
        });
        url += &hosts.collect::<Vec<_>>().join(",");
        url += &format!("/{}", percent_encoded(&path));
        let params = params
            .iter()
            .map(|(key, value)| format!("{key}={}", percent_encoded(value)));
        let query = params.collect::<Vec<_>>().join("&");
        if query.is_empty() {
            url
        } else {
            format!("{url}?{query}")
        }
    })
}

fn url_masked(text: &str) -> String {
    BackendUrl::parse(text).expect("url").to_string()
}

/// The store in the value of `key`, as a backend reads it.
fn read_store(url: &BackendUrl, key: &'static str) -> Result<Option<Config>> {
    Settings::of(&Config::from(url.clone()))?.take_store(key)
}

proptest! {
    #[test]
    fn parse_never_panics(text: String, like in url_like()) {
        for text in [text, like] {
            if let Err(error) = BackendUrl::parse(&text) {
                prop_assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }

    #[test]
    fn toml_never_panics(text: String, url in url_like(), line: String) {
        for text in [text, format!("url = {url:?}\n{line}")] {
            if let Err(error) = Config::from_toml(&text) {
                prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error);
            }
        }
    }

    #[test]
    fn display_parses_to_the_same_url(text in url()) {
        let url = BackendUrl::parse(&text).expect(&text);
        let again = BackendUrl::parse(&url.to_string()).expect("normal form");
        prop_assert_eq!(&again, &url);
        prop_assert_eq!(again.to_string(), url.to_string());
    }

    #[test]
    fn what_parses_round_trips(text in url_like()) {
        if let Ok(url) = BackendUrl::parse(&text)
            && !url.has_secret()
        {
            prop_assert_eq!(BackendUrl::parse(&url.to_string()).expect("normal form"), url);
        }
    }

    #[test]
    fn no_password_is_printed(before: String, after: String, key in "|sentinel-|tls-key-") {
        let password = format!("{before}{PASSWORD}{after}");
        let url = format!("redis://u:{}@h/0", percent_encoded(&password));
        let param = format!("redis://h/0?{key}password={}", percent_encoded(&password));
        for text in [url, param] {
            let url = BackendUrl::parse(&text).expect("url");
            let printed = format!("{url} {url:?} {:?}", Config::from_url(&text));
            prop_assert!(!printed.contains(PASSWORD), "{}", printed);
        }
    }

    #[test]
    fn no_password_of_a_nested_url_is_printed(
        before: String,
        after: String,
        is_login: bool,
        levels in 1..=BackendUrl::STORES_NESTED_MAX,
    ) {
        let password = percent_encoded(&format!("{before}{PASSWORD}{after}"));
        let innermost = match is_login {
            true => format!("redis://u:{password}@h/0"),
            false => format!("redis://h/0?password={password}"),
        };
        let nest = |inner: &str| format!("m:?from={}&to=zk://z", inner
            .replace('%', "%25").replace('@', "%40").replace('?', "%3F").replace('&', "%26"));
        let text = (0..levels).fold(innermost, |inner, _| nest(&inner));
        prop_assume!(text.len() <= BackendUrl::BYTES_MAX);
        let url = BackendUrl::parse(&text).expect("url");
        prop_assert!(url.has_secret());
        let printed = format!("{url} {url:?} {:?}", Config::from_url(&text));
        prop_assert!(!printed.contains(PASSWORD), "{}", printed);
        prop_assert_eq!(BackendUrl::parse(&url.expose()).expect("normal form"), url);
        // What is printed is a URL, and masked once and for all.
        let printed = BackendUrl::parse(&url_masked(&text)).expect("masked");
        prop_assert_eq!(printed.to_string(), url_masked(&text));
    }

    #[test]
    fn no_password_of_a_nested_url_is_in_an_error(
        before in ".{0,8}",
        after in ".{0,8}",
        encoded in 0..3usize,
        end in "(/0)?(\\?ttl)?(&x=%)?",
        key in "from|to|1",
    ) {
        let inner = format!("redis://u:{before}{PASSWORD}{after}@h{end}");
        let inner = (0..encoded).fold(inner, |inner, _| percent_encoded(&inner));
        for text in [
            format!("m:?{key}={inner}"),
            format!("m:?a=b&{key}={inner}&c"),
            format!("m:?{key}=m:?{key}={inner}"),
            format!("m:{key}={inner}#"),
            format!("m//{inner}"),
        ] {
            let printed = match BackendUrl::parse(&text) {
                Ok(url) => format!("{url:?} {:?}", read_store(&url, "from")),
                Err(error) => format!("{error:?}"),
            };
            prop_assert!(!printed.contains(PASSWORD), "{}", printed);
        }
    }

    #[test]
    fn no_password_is_in_an_error(before in ".{0,8}", after in ".{0,8}", end in "(/0)?(\\?ttl)?") {
        let password = format!("{before}{PASSWORD}{after}");
        for slashes in ["//", "/", "", ":", "://"] {
            let text = format!("redis:{slashes}u:{password}@h{end}");
            // A quote in it would end the string, and the rest be a comment: another URL, without a password.
            let quoted = toml::Value::from(text.clone()).to_string();
            let toml = format!("url = {quoted}\n");
            let broken = format!("url = {quoted}\n!");
            let unclosed = format!("url = {}\n", &quoted[..quoted.len() - 1]);
            for printed in [
                format!("{:?}", BackendUrl::parse(&text)),
                BackendUrl::parse(&text).map_or_else(|e| e.to_string(), |url| url.to_string()),
                format!("{:?}", Config::from_toml(&toml)),
                format!("{:?}", Config::from_toml(&broken)),
                format!("{:?}", Config::from_toml(&unclosed)),
            ] {
                prop_assert!(!printed.contains(PASSWORD), "{}", printed);
            }
        }
    }
}

#[test]
fn an_error_quotes_the_url_without_its_password() {
    for (text, message) in [
        (
            "redis://app:hunter2@db-1:99999/0",
            "URL \"redis://***@db-1:99999/0\": a port is a number from 1 to 65535",
        ),
        (
            "redis://app:hunter2",
            "URL \"redis://app:***\": a port is a number from 1 to 65535",
        ),
        (
            "redis://app:hun/ter2@db-1",
            "URL \"redis://***@db-1\": \"@\" only ends the user and password, elsewhere it is \
             written %40",
        ),
        ("", "URL \"\": it is empty"),
    ] {
        assert_eq!(
            BackendUrl::parse(text).expect_err(text).to_string(),
            message
        );
    }
}

#[test]
fn the_length_is_bounded() {
    let longest = format!("file:/{}", "x".repeat(BackendUrl::BYTES_MAX - 6));
    assert!(BackendUrl::parse(&longest).is_ok());
    let error = BackendUrl::parse(&(longest + "x")).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "a URL has at most 4096 bytes, this one has 4097"
    );
}

//! Stores in stores: a URL as the value of a key, a variable or a table, and never a password in a message.

use std::{ffi::OsString, path::Path, process::Command};

use dlock_core::{
    Error, ErrorKind, Result,
    config::{BackendUrl, Config, Settings, Source},
};

const PASSWORD: &str = "hunter2";

fn config(url: &str) -> Config {
    Config::from_url(url).expect(url)
}

fn store(config: &Config, key: &'static str) -> Result<Option<Config>> {
    Settings::of(config)?.take_store(key)
}

fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error: Error = result.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    let line = error.to_string();
    assert!(!line.contains(PASSWORD), "{line}");
    line
}

fn toml_error(text: &str) -> String {
    refused(Config::from_toml(text))
}

#[test]
fn a_value_is_the_configuration_of_a_store() {
    let outer = config("migrate:?from=redis://app:hunter2%40h/0%3Fttl=5s&to=file:");
    let from = store(&outer, "from").unwrap().expect("given");
    assert_eq!(from.url(), config("redis://app:hunter2@h/0?ttl=5s").url());
    assert_eq!(from.source().to_string(), "the argument: from");
    assert_eq!(store(&outer, "other").unwrap(), None);
}

#[test]
fn an_error_of_a_store_begins_with_its_key() {
    for (url, message) in [
        ("m:?from=", "from: URL \"\": it is empty"),
        (
            "m:?from=db-1",
            "from: URL \"db-1\": it has no scheme, as in \"redis://host\" or \"file:/directory\"",
        ),
        (
            "m:?from=redis://u:hunter2%40h:x",
            "from: URL \"redis://***@h:x\": a port is a number from 1 to 65535",
        ),
        (
            "m:?from=m:%3Fto=redis://u:hunter2%2540h%26x",
            "from: URL \"m:?to=redis://u:***&***\": after \"?\" and \"&\" comes key=value; an \"&\" in a value is \
             written %26",
        ),
        (
            "m:?from=env:",
            "from: after \"env:\" comes the name of an environment variable, of letters, digits and \"_\", as in \
             env:OLD_STORE",
        ),
        (
            "m:?from=env:hunter2!",
            "from: after \"env:\" comes the name of an environment variable, of letters, digits and \"_\", as in \
             env:OLD_STORE",
        ),
        (
            "m:?from=env:DLOCK_TEST_NOT_SET",
            "from: DLOCK_TEST_NOT_SET: the environment variable is not set; give it the URL of a store",
        ),
    ] {
        assert_eq!(refused(store(&config(url), "from")), message);
    }
}

#[test]
fn a_store_is_bounded_like_a_url() {
    let longest = format!("file:/{}", "x".repeat(BackendUrl::BYTES_MAX - 6));
    let outer = |url: String| config("m:").with_param("from", url);
    assert!(store(&outer(longest.clone()), "from").is_ok());
    assert_eq!(
        refused(store(&outer(longest + "x"), "from")),
        "from: a URL has at most 4096 bytes, this one has 4097"
    );
}

#[test]
fn the_depth_of_stores_is_bounded() {
    let nest = |levels: usize| {
        (0..levels).fold(config("file:"), |inner, _| {
            config("m:").with_param("from", inner.url().expose())
        })
    };
    let innermost = |mut outer: Config| loop {
        match store(&outer, "from")? {
            Some(inner) => outer = inner,
            None => return Result::Ok(outer),
        }
    };
    let deepest = innermost(nest(BackendUrl::STORES_NESTED_MAX)).unwrap();
    assert_eq!(deepest.to_string(), "file:");
    assert_eq!(
        deepest.source().to_string(),
        "the argument: from: from: from"
    );
    assert_eq!(
        refused(innermost(nest(BackendUrl::STORES_NESTED_MAX + 1))),
        "from: from: from: from: the store is nested in 4 others, allowed are at most 3"
    );
}

#[test]
fn a_wrong_value_of_another_key_is_masked() {
    let config = config("m:?token_base=redis://u:hunter2%40h");
    assert_eq!(
        refused(Settings::of(&config)),
        "token_base=redis://u:***@h: allowed are whole numbers from 0 to 4611686018427387904"
    );
}

/// The variable that the process of [`in_a_variable`] reads.
const VARIABLE: &str = "DLOCK_TEST_STORE";

/// Runs the test `variables_are_read` in a process of its own, where the variable is `value`.
fn in_a_variable(value: impl Into<OsString>) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stores::variables_are_read", "--nocapture"])
        .env(VARIABLE, value.into())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains(PASSWORD), "{text}");
    let line = text.lines().find_map(|line| line.split_once("READ "));
    line.expect(&text).1.to_owned()
}

#[test]
fn variables_are_read() {
    use std::os::unix::ffi::OsStringExt as _;

    let outer = config("m:?from=env:DLOCK_TEST_STORE");
    assert!(!outer.url().has_secret());
    // The process that `in_a_variable` starts. The word is behind the name of the test.
    if std::env::var_os(VARIABLE).is_some() {
        match store(&outer, "from") {
            Ok(Some(config)) => println!("READ {config}, from {}", config.source()),
            result => println!("READ {}", refused(result)),
        }
        return;
    }
    for (value, read) in [
        (
            OsString::from("redis://u:hunter2@h/0?ttl=1s"),
            "redis://u:***@h/0?ttl=1s, from the argument: from: DLOCK_TEST_STORE",
        ),
        (
            OsString::from("u:hunter2@h st"),
            "from: DLOCK_TEST_STORE: URL \"u:***@h st\": \"#\", spaces and control characters must be \
             percent-encoded",
        ),
        (
            OsString::new(),
            "from: DLOCK_TEST_STORE: the environment variable is empty; give it the URL of a store",
        ),
        (
            OsString::from_vec(b"file:/\xff".to_vec()),
            "from: DLOCK_TEST_STORE: the environment variable is not UTF-8; give it the URL of a store",
        ),
    ] {
        assert_eq!(in_a_variable(value), read);
    }
}

#[test]
fn a_table_is_a_store() {
    let text = "url = 'm:?wait=1s'\nttl = '2s'\n[from]\nurl = 'redis://u:hunter2@h'\nttl = '3s'\nprefix = 'a&b?'\n\
                [to]\nurl = 'm:'\n[to.from]\nurl = 'file:/a b%40'\n";
    // Spaces are escaped in a URL.
    let config = Config::from_toml(&text.replace("a b", "a%20b")).unwrap();
    let url = "m:?from=redis://u:hunter2%40h%3Fprefix=a%2526b%253F%26ttl=3s&ttl=2s&wait=1s\
               &to=m:%3Ffrom=file:/a%252520b%252540";
    assert_eq!(config.url(), BackendUrl::parse(url).as_ref().unwrap());
    let from = store(&config, "from").unwrap().expect("given");
    assert_eq!(from.url().param("prefix"), Some("a&b?"));
    assert_eq!(from.url().password().unwrap().expose(), PASSWORD);
    assert!(!format!("{config:?} {config}").contains(PASSWORD));
}

#[test]
fn tables_of_nodes_are_counted() {
    let nodes = |count: usize| {
        let nodes = (1..=count).map(|n| format!("[[node]]\nurl = 'redis://h-{n}'\n"));
        format!("url = 'q:'\n{}", nodes.collect::<String>())
    };
    let config = Config::from_toml(&nodes(BackendUrl::NODES_MAX)).unwrap();
    for (key, url) in [("1", "redis://h-1"), ("50", "redis://h-50")] {
        assert_eq!(config.url().param(key), Some(url));
    }
    assert_eq!(config.url().param("node"), None);
    assert_eq!(
        toml_error(&nodes(BackendUrl::NODES_MAX + 1)),
        "node has 51 tables, allowed are 1 to 50"
    );
}

#[test]
fn an_error_of_a_table_has_its_path() {
    for (text, message) in [
        (
            "url = 'm:'\n[from]\nttl = '1s'",
            "from.url is missing; a table is a store, with url = \"redis://host\" and keys of that URL",
        ),
        (
            "url = 'm:'\n[from]\nurl = 5",
            "from.url is an integer, allowed is a string",
        ),
        (
            "url = 'm:'\n[from]\nurl = 'redis://u:hunter2@h:x'",
            "from.url: URL \"redis://***@h:x\": a port is a number from 1 to 65535",
        ),
        (
            "url = 'm:'\n[from]\nurl = 'redis:'\nTTL = '1s'",
            "from: \"TTL\" is no key: keys are of a-z, 0-9, \"_\" and \"-\"",
        ),
        (
            "url = 'm:'\n[from]\nurl = 'redis:'\nttl = 1.5",
            "from.ttl is a fraction, allowed are a string, an integer and a boolean",
        ),
        (
            "url = 'm:'\n[from]\nurl = 'redis:?ttl=1s'\nttl = '1s'",
            "from.ttl is given twice: in the URL and as a key",
        ),
        (
            "url = 'm:?from=redis:'\n[from]\nurl = 'redis:'",
            "from is given twice: in the URL and as a key",
        ),
        (
            "url = 'q:?2=redis:'\n[[node]]\nurl = 'redis:'\n[[node]]\nurl = 'redis:'",
            "2 is given twice: as a key and as a [[node]]",
        ),
        (
            "url = 'q:'\n[[node]]\nurl = 'redis:'\n[[node]]\n",
            "node.2.url is missing; a table is a store, with url = \"redis://host\" and keys of that URL",
        ),
        (
            "url = 'q:'\nnode = [{url = 'redis:'}, 'redis:']",
            "node.2 is a string, allowed is a table [[node]]",
        ),
        (
            "url = 'q:'\nnode = []",
            "node has 0 tables, allowed are 1 to 50",
        ),
        (
            "url = 'q:'\n[[from]]\nurl = 'redis:'",
            "from is an array, allowed are a string, an integer and a boolean",
        ),
        (
            "url = 'm:'\n[password]\nurl = 'hunter2'",
            "password is a table, allowed are a string, an integer and a boolean",
        ),
    ] {
        assert_eq!(toml_error(text), message, "{text}");
    }
}

#[test]
fn the_depth_of_tables_is_bounded() {
    let table = |levels: usize| {
        let tables = (1..=levels)
            .map(|level| format!("[{}]\nurl = 'm:'\n", ["from"].repeat(level).join(".")));
        format!("url = 'm:'\n{}", tables.collect::<String>())
    };
    assert!(Config::from_toml(&table(BackendUrl::STORES_NESTED_MAX)).is_ok());
    assert_eq!(
        toml_error(&table(BackendUrl::STORES_NESTED_MAX + 1)),
        "from.from.from.from is nested in 4 stores, allowed are at most 3"
    );
    // The number of a node is not a level of its own.
    let nodes = "url = 'm:'\n[[node]]\nurl = 'm:'\n[[node.node]]\nurl = 'm:'\n[[node.node.node]]\nurl = 'm:'\n";
    assert!(Config::from_toml(nodes).is_ok());
    let deeper = format!("{nodes}[[node.node.node.node]]\nurl = 'm:'\n");
    assert_eq!(
        toml_error(&deeper),
        "node.1.node.1.node.1.node.1 is nested in 4 stores, allowed are at most 3"
    );
}

#[test]
fn values_of_tables_are_not_bounded_as_a_whole() {
    let path = "x".repeat(BackendUrl::BYTES_MAX / 2);
    let table = |key: &str| format!("[{key}]\nurl = 'file:/{path}'\n");
    let text = format!("url = 'm:'\n{}{}{}", table("a"), table("b"), table("c"));
    let config = Config::from_toml(&text).unwrap();
    assert!(config.url().expose().len() > BackendUrl::BYTES_MAX);
    assert!(store(&config, "c").is_ok());
}

#[test]
fn a_nested_password_makes_a_file_a_secret() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dlock.toml");
    let write = |text: &str, mode: u32| {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let find = || {
        let discovery = dlock_core::config::Discovery::new().env(|_| None);
        discovery.directory(directory.path()).find()
    };
    write("url = 'm:'\n[from]\nurl = 'redis://:hunter2@h'\n", 0o644);
    let config = find().unwrap();
    assert!(
        config
            .warning()
            .expect("a warning")
            .contains("has a password")
    );
    let from = store(&config, "from").unwrap().expect("given");
    assert_eq!(from.source(), &nested(&path));
    // The warning is about the file, and is one.
    assert_eq!(from.warning(), None);
    let error = refused(store(&from.with_param("to", "redis://h:x"), "to"));
    let place = format!("{}: from: to: URL ", path.display());
    assert!(error.starts_with(&place), "{error}");
    write("url = 'm:'\n[from]\nurl = 'redis://:hunter2@h'\n", 0o664);
    assert!(refused(find()).contains("lets others write it"));
}

fn nested(path: &Path) -> Source {
    Source::Nested {
        outer: Box::new(Source::File(path.to_owned())),
        key: "from".to_owned(),
        variable: None,
    }
}

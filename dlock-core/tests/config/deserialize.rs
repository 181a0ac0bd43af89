//! `Config` as a field of another program's configuration.

use dlock_core::config::{Config, Source};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct App {
    name: String,
    locks: Config,
    standby: Option<Config>,
}

fn config(url: &str) -> Config {
    Config::from_url(url).unwrap()
}

fn json_error(locks: &str) -> String {
    let text = format!(r#"{{"name": "app", "locks": {locks}}}"#);
    serde_json::from_str::<App>(&text).unwrap_err().to_string()
}

#[test]
fn a_url_and_a_table_say_the_same() {
    let wanted = config("redis://h/0?prefix=a&ttl=10s&token_base=7&may_evict=true");
    let url = "redis://h/0?prefix=a&ttl=10s&token_base=7&may_evict=true";
    let toml_url = format!("name = 'app'\nlocks = '{url}'\nstandby = 'file:'");
    let toml_table = "name = 'app'\n[locks]\nurl = 'redis://h/0?prefix=a'\nttl = '10s'\n\
                      token_base = 7\nmay_evict = true\n[standby]\nurl = 'file:'";
    let json_url = format!(r#"{{"name": "app", "locks": "{url}", "standby": "file:"}}"#);
    let json_table = r#"{"name": "app", "standby": {"url": "file:"}, "locks":
        {"ttl": "10s", "url": "redis://h/0?prefix=a", "token_base": 7, "may_evict": true}}"#;
    let apps: [App; 4] = [
        toml::from_str(&toml_url).unwrap(),
        toml::from_str(toml_table).unwrap(),
        serde_json::from_str(&json_url).unwrap(),
        serde_json::from_str(json_table).unwrap(),
    ];
    for app in apps {
        assert_eq!(app.name, "app");
        assert_eq!(app.locks, wanted);
        assert_eq!(app.locks.source(), &Source::Argument);
        assert_eq!(app.standby, Some(config("file:")));
    }
}

#[test]
fn the_errors_are_those_of_a_file() {
    for text in [
        "ttl = '10s'",
        "url = 5",
        "url = ''",
        "url = 'redis:'\nprefix = \"a\\n\"",
        "url = 'file:?ttl=1s'\nttl = '2s'",
        "url = 'file:'\nttl = 1.5",
        "url = 'file:'\nttl = 1979-05-27",
        "url = 'file:'\nttl = ['1s']",
        "url = 'file:'\n[redis]\nttl = '1s'",
        "url = 'file:'\nTTL = '1s'",
    ] {
        let wanted = Config::from_toml(text).unwrap_err().to_string();
        let error = toml::from_str::<Config>(text).unwrap_err();
        assert_eq!(error.message(), wanted, "{text}");
    }
    let wanted = Config::from_url("redis").unwrap_err().to_string();
    let error = json_error("\"redis\"");
    assert!(error.starts_with(&wanted), "{error}");
}

#[test]
fn what_only_json_can_say_is_refused() {
    for (locks, message) in [
        ("null", "invalid type: null, expected a URL, or a table"),
        ("[]", "invalid type: sequence, expected a URL, or a table"),
        (r#"{"url": null}"#, "url is null, leave it out"),
        (
            r#"{"url": "file:", "ttl": "1s", "ttl": "2s"}"#,
            "ttl is given twice",
        ),
        (
            r#"{"url": "file:", "ttl": {"s": 1}}"#,
            "ttl.url is missing; a table is a store, with url = \"redis://host\" and keys of that URL",
        ),
        (
            r#"{"url": "m:", "from": {"url": "file:", "ttl": "1s", "ttl": "2s"}}"#,
            "duplicate key",
        ),
        (
            r#"{"url": "m:", "from": {"url": null}}"#,
            "invalid type: null, expected any valid TOML value",
        ),
    ] {
        let error = json_error(locks);
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_password_is_in_no_message() {
    for locks in [
        r#""redis://:hunter2@h st""#,
        r#"{"url": "redis://:hunter2@h st"}"#,
        r#"{"url": "redis://h", "password": ["hunter2"]}"#,
        r#"{"url": "redis://h?sentinel_password=hunter2", "sentinel_password": "hunter2"}"#,
        r#"{"url": "redis://h", "redis://:hunter2@h": 1}"#,
        r#"{"redis://:hunter2@h": null}"#,
        r#""redis://h?p%61ssword=hunter2""#,
        r#""m:?from=redis%3A%2F%2F:hunter2%40h&x""#,
        r#"{"url": "m:", "from": {"url": "redis://:hunter2@h st"}}"#,
        r#"{"url": "m:", "from": {"url": "redis://h", "password": ["hunter2"]}}"#,
        r#"{"url": "m:", "from": {"url": "redis://h", "password": {"url": "hunter2"}}}"#,
        r#"{"url": "m:?1=a:", "node": [{"url": "redis://:hunter2@h"}]}"#,
    ] {
        let error = json_error(locks);
        assert!(!error.contains("hunter2"), "{error}");
    }
    let text = "name = 'app'\n[locks]\nurl = 'm:'\n[locks.from]\nurl = 'redis://h'\n\
                password = 123456789012345678901";
    let error = toml::from_str::<App>(text).unwrap_err();
    assert_eq!(error.message(), "from cannot be read, write it in quotes");
    for digits in ["123456789012345678901", "0xffffffffffffffffff"] {
        let text = format!("name = 'app'\n[locks]\nurl = 'redis://h'\npassword = {digits}");
        let error = toml::from_str::<App>(&text).unwrap_err();
        let message = error.message();
        assert_eq!(message, "password cannot be read, write it in quotes");
    }
    let text = "name = 'app'\nlocks = 'redis://:hunter2@h st'";
    let error = toml::from_str::<App>(text).unwrap_err();
    assert!(!error.message().contains("hunter2"), "{error}");
}

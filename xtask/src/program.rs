//! `cargo dlock …`: the program, built when it is needed.

use std::{env, ffi::OsString, fs, path::Path};

use crate::{command::Tool, failure::Failure, setup};

/// The stores whose drivers take long to build. Each has the begin of its schemes, and the feature of the program
/// that a URL of it turns on.
const STORES: [(&str, &str); 5] = [
    ("etcd", "etcd"),
    ("mariadb", "mysql"),
    ("mysql", "mysql"),
    ("redis", "redis"),
    ("zk", "zk"),
];

/// The places that dlock reads the URL from if no argument has it.
const URL_ENV: &str = "DLOCK_URL";
const FILE_ENV: &str = "DLOCK_CONFIG";
const URL_FILE: &str = "dlock.toml";
const SYSTEM_FILE: &str = "/etc/dlock.toml";

/// The argument of `bench` that starts a server of each store.
const LOCAL: &str = "--local";

/// The argument before the path of a file with the URL.
const FILE_ARGUMENT: &str = "--config";

/// Builds `dlock` and becomes it, in the caller's directory. Returns only when that fails.
///
/// It is a debug build: the first run on a fresh machine does not wait for the optimiser.
pub(crate) fn become_it(arguments: &[OsString]) -> Failure {
    let cargo = Tool::cargo("run --package dlock-cli --bin dlock");
    // The first build takes a minute or two, and cargo shows how far it is; later ones are silent.
    let cargo = if was_built() {
        cargo.args(["--quiet"])
    } else {
        cargo
    };
    let words = arguments.iter().map(|word| word.to_string_lossy().into());
    let words: Vec<String> = words.collect();
    let files = file_of(&words)
        .into_iter()
        .chain(env::var(FILE_ENV).ok())
        .chain([URL_FILE.to_owned(), SYSTEM_FILE.to_owned()])
        // What is read from a pipe, dlock would not find there any more.
        .filter(|path| Path::new(path).is_file())
        .filter_map(|path| fs::read_to_string(path).ok());
    let mentioned: Vec<String> = files
        .chain(env::var(URL_ENV).ok())
        .chain(words.clone())
        .collect();
    let stores: Vec<_> = stores_of(&mentioned).collect();
    if stores.contains(&"etcd")
        && let Err(failure) = setup::for_etcd()
    {
        return failure;
    }
    let features = stores.iter().map(|store| format!("--features={store}"));
    let features: Vec<_> = features.collect();
    cargo.args(features).args(["--"]).args(arguments).replace()
}

/// The path that `--config` gives.
fn file_of(words: &[String]) -> Option<String> {
    // What comes behind it is the command's.
    let mut own = words.iter().take_while(|word| *word != "--");
    own.find_map(|word| match word.strip_prefix(FILE_ARGUMENT)? {
        "" => Some(None),
        rest => rest.strip_prefix('=').map(|path| Some(path.to_owned())),
    })?
    .or_else(|| own.next().cloned())
}

/// The stores of which a URL is mentioned, such as `redis` for `rediss://host`.
fn stores_of(mentioned: &[String]) -> impl Iterator<Item = &'static str> {
    let has = |text: &String, scheme: &str| {
        let words = text.split(['"', '\'', '=', ' ', '\n']);
        words
            .filter(|word| word.starts_with(scheme))
            .any(|word| word.contains("://"))
    };
    STORES
        .into_iter()
        .filter(move |(scheme, _)| {
            let all = mentioned.iter().any(|text| text == LOCAL);
            all || mentioned.iter().any(|text| has(text, scheme))
        })
        .map(|(_, feature)| feature)
}

/// Whether the program lies beside xtask, where cargo puts both.
fn was_built() -> bool {
    env::current_exe().is_ok_and(|xtask| xtask.with_file_name("dlock").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stores(text: &str) -> Vec<&'static str> {
        stores_of(&[text.to_owned()]).collect()
    }

    #[test]
    fn a_url_turns_its_store_on() {
        assert_eq!(stores("redis://127.0.0.1"), ["redis"]);
        assert_eq!(stores("--url=rediss-cluster://a,b"), ["redis"]);
        assert_eq!(stores("etcds://a zk://b"), ["etcd", "zk"]);
        assert_eq!(stores("mariadb://u@h/d"), ["mysql"]);
        assert_eq!(stores("ttl = \"5s\"\nurl = \"redis://h\"\n"), ["redis"]);
    }

    #[test]
    fn local_servers_turn_all_stores_on() {
        assert_eq!(stores("--local").len(), STORES.len());
    }

    #[test]
    fn a_file_is_named_in_each_spelling() {
        let file = |line: &str| file_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(file("run --config a.toml b").as_deref(), Some("a.toml"));
        assert_eq!(file("--config=a.toml run b").as_deref(), Some("a.toml"));
        assert_eq!(file("run b --config"), None);
        assert_eq!(file("run b"), None);
        assert_eq!(file("run b -- app --config a.toml"), None);
        assert_eq!(file("--configs a --config b").as_deref(), Some("b"));
    }

    #[test]
    fn other_words_do_not() {
        assert!(stores("redis").is_empty());
        assert!(stores("file:/var/lock/redis").is_empty());
        assert!(stores("file:///srv/redis://x").is_empty());
    }
}

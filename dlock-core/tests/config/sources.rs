//! Where the configuration comes from: files, the environment, and which of them counts.

use std::{collections::HashMap, ffi::OsString, fs, path::Path};

use dlock_core::{
    ErrorKind,
    config::{Config, Discovery, Registry, Source},
    memory::Memory,
};

fn toml_error(text: &str) -> String {
    let error = Config::from_toml(text).expect_err(text);
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error.to_string()
}

#[test]
fn a_file_says_the_same_as_a_url() {
    let text = "url = 'redis://h/0?prefix=a'\nttl = '10s'\ntoken_base = 7\ntls = true\n";
    let from_url = Config::from_url("redis://h/0?prefix=a&ttl=10s&token_base=7&tls=true").unwrap();
    assert_eq!(Config::from_toml(text).unwrap().url(), from_url.url());
}

#[test]
fn wrong_files() {
    for (text, message) in [
        ("", "key \"url\" is missing, as in url = \"redis://host\""),
        (
            "ttl = '10s'",
            "key \"url\" is missing, as in url = \"redis://host\"",
        ),
        ("url = 5", "url is an integer, allowed is a string"),
        ("url = ''", "URL \"\": it is empty"),
        (
            "url = 'redis:'\nprefix = \"a\\n\"",
            "the prefix has a control character",
        ),
        (
            "url = 'file:?ttl=1s'\nttl = '2s'",
            "ttl is given twice: in the URL and as a key",
        ),
        (
            "url = 'file:'\nttl = 1.5",
            "ttl is a fraction, allowed are a string, an integer and a boolean",
        ),
        (
            "url = 'file:'\n[redis]\nttl = '1s'",
            "redis.url is missing; a table is a store, with url = \"redis://host\" and keys of that URL",
        ),
        (
            "url = 'file:'\nTTL = '1s'",
            "\"TTL\" is no key: keys are of a-z, 0-9, \"_\" and \"-\"",
        ),
    ] {
        assert_eq!(toml_error(text), message);
    }
}

#[test]
fn broken_toml_is_reported_by_line_and_column_and_not_quoted() {
    for (text, place) in [
        ("url = 'file:'\nttl = 10s\n", "line 2, column 7: "),
        ("url = 'redis://:hunter2@h\n", "line 1, column 26: "),
        ("url = 'file:'\nurl = 'file:'\n", "line 2, column 1: "),
        ("# ü\nä", "line 2, column 2: "),
        // One that is too large for a number.
        (
            "url = 'redis://h'\npassword = 98765432109876543210\n",
            "line 2, column 12: ",
        ),
    ] {
        let error = toml_error(text);
        assert!(error.starts_with(place), "{error}");
        for not_quoted in ["hunter2", "98765432109876543210", "\n"] {
            assert!(!error.contains(not_quoted), "{error}");
        }
    }
}

/// A directory with `dlock.toml` and another file, and an environment.
struct World {
    directory: tempfile::TempDir,
    env: HashMap<&'static str, OsString>,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            directory,
            env: HashMap::new(),
        }
    }

    fn write(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn discovery(&self) -> Discovery<'_> {
        Discovery::new()
            .env(|name| self.env.get(name).cloned())
            .directory(self.directory.path())
            .system_file(self.directory.path().join("etc.toml"))
    }

    /// The message of the error, with the directory left out of paths.
    fn refused(&self, discovery: Discovery<'_>) -> String {
        let error = discovery.find().expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        error
            .to_string()
            .replace(&format!("{}/", self.directory.path().display()), "")
    }
}

#[test]
fn the_first_source_counts_and_counts_alone() {
    let mut world = World::new();
    let found = |world: &World, url: Option<&str>, file: Option<&Path>| {
        let config = world.discovery().url(url).file(file).find().unwrap();
        (config.to_string(), config.source().to_string())
    };
    let pair = |url: &str, source: &str| (url.to_owned(), source.to_owned());
    assert_eq!(found(&world, None, None), pair("file:", "the default"));

    let system = world.write("etc.toml", "url = 'zk://machine'\n");
    assert_eq!(
        found(&world, None, None),
        pair("zk://machine", system.to_str().unwrap())
    );

    let here = world.write("dlock.toml", "url = 'zk://here'\nttl = '1s'\n");
    assert_eq!(
        found(&world, None, None),
        pair("zk://here?ttl=1s", here.to_str().unwrap())
    );

    let named = world.write("named.toml", "url = 'zk://named'");
    world.env.insert("DLOCK_CONFIG", named.clone().into());
    assert_eq!(
        found(&world, None, None),
        pair("zk://named", named.to_str().unwrap())
    );

    world.env.insert("DLOCK_URL", "zk://env".into());
    assert_eq!(found(&world, None, None), pair("zk://env", "DLOCK_URL"));
    assert_eq!(
        found(&world, None, Some(&here)),
        pair("zk://here?ttl=1s", here.to_str().unwrap())
    );
    assert_eq!(
        found(&world, Some("zk://arg"), None),
        pair("zk://arg", "the argument")
    );
}

#[test]
fn a_source_that_is_there_but_wrong_is_an_error() {
    let mut world = World::new();
    world.write("dlock.toml", "url = 'file:'\nnonsense\n");
    let error = world.refused(world.discovery());
    assert!(error.starts_with("dlock.toml: line 2, column "), "{error}");

    world.env.insert("DLOCK_CONFIG", "".into());
    assert_eq!(
        world.refused(world.discovery()),
        "DLOCK_CONFIG is empty; give it a path or unset it"
    );
    let missing = world.directory.path().join("missing.toml");
    world.env.insert("DLOCK_CONFIG", missing.clone().into());
    assert_eq!(
        world.refused(world.discovery()),
        "missing.toml: there is no such file; DLOCK_CONFIG names it"
    );
    assert_eq!(
        world.refused(world.discovery().file(Some(&missing))),
        "missing.toml: there is no such file"
    );

    world.env.insert("DLOCK_URL", "".into());
    assert_eq!(
        world.refused(world.discovery()),
        "DLOCK_URL: URL \"\": it is empty"
    );
    world
        .env
        .insert("DLOCK_URL", "redis://u:hunter2@h:x".into());
    assert_eq!(
        world.refused(world.discovery()),
        "DLOCK_URL: URL \"redis://***@h:x\": a port is a number from 1 to 65535"
    );

    let both = world.discovery().url(Some("file:")).file(Some(&missing));
    assert_eq!(
        world.refused(both),
        "a URL and a configuration file are given, allowed is one of them"
    );
    assert_eq!(
        world.refused(world.discovery().url(Some(""))),
        "URL \"\": it is empty"
    );
}

#[test]
fn the_machine_s_file_is_an_error_when_it_is_broken() {
    let world = World::new();
    world.write("etc.toml", "no TOML\n");
    let error = world.refused(world.discovery());
    assert!(error.starts_with("etc.toml: line 1, column "), "{error}");
}

#[test]
fn a_store_can_be_required() {
    let mut world = World::new();
    for (value, is_required) in [("1", true), ("no", true), ("0", false), ("", false)] {
        world.env.insert("DLOCK_REQUIRE_URL", value.into());
        let found = world.discovery().find();
        assert_eq!(found.is_err(), is_required, "{value:?}");
    }
    world.env.insert("DLOCK_REQUIRE_URL", "1".into());
    assert_eq!(
        world.refused(world.discovery()),
        "no store is configured, and DLOCK_REQUIRE_URL requires one; allowed are DLOCK_URL, \
         DLOCK_CONFIG, dlock.toml and /etc/dlock.toml"
    );
    // Any source will do, also one that names the default.
    world.env.insert("DLOCK_URL", "file:".into());
    assert_eq!(world.discovery().find().unwrap().to_string(), "file:");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_write_has_no_password() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    let path = world.write("dlock.toml", "url = 'redis://:hunter2@h'\n");
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    set(0o664);
    assert_eq!(
        world.refused(world.discovery()),
        "dlock.toml: it has a password and the mode 664, which lets others write it; allowed is at most 644"
    );
    // One that was named is the user's decision.
    assert!(world.discovery().file(Some(&path)).find().is_ok());
    set(0o644);
    assert!(world.discovery().find().is_ok());
    world.write("dlock.toml", "url = 'redis://h?sentinel-password=p'\n");
    set(0o606);
    assert!(world.discovery().find().is_err());
    world.write("dlock.toml", "url = 'redis://h'\n");
    assert!(world.discovery().find().is_ok());
}

#[cfg(unix)]
#[test]
fn an_environment_that_is_not_utf_8_is_an_error() {
    use std::os::unix::ffi::OsStringExt;

    let mut world = World::new();
    world
        .env
        .insert("DLOCK_URL", OsString::from_vec(b"file:/\xff".to_vec()));
    assert_eq!(
        world.refused(world.discovery()),
        "DLOCK_URL: it is not UTF-8"
    );
}

#[test]
fn files_that_cannot_be_read_are_errors() {
    let world = World::new();
    fs::create_dir(world.directory.path().join("dlock.toml")).unwrap();
    let error = world.refused(world.discovery());
    assert!(
        error.starts_with("dlock.toml: cannot read the file: "),
        "{error}"
    );

    let world = World::new();
    world.write(
        "dlock.toml",
        &format!("url = 'file:'\n#{}", "x".repeat(64 * 1024)),
    );
    let error = world.refused(world.discovery());
    assert_eq!(error, "dlock.toml: the file is longer than 65536 bytes");
}

#[tokio::test]
async fn an_error_says_where_the_setting_is() {
    let world = World::new();
    let path = world.write("dlock.toml", "url = 'memory:'\ntll = '1s'\n");
    let registry = Registry::new().register("memory", |_| {
        Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) }))
    });
    let config = world.discovery().find().unwrap();
    assert_eq!(config.source(), &Source::File(path.clone()));
    let error = registry.connect(&config).await.expect_err("unknown key");
    assert_eq!(
        error.to_string(),
        format!(
            "cannot connect (memory): {}: unknown key \"tll\" (did you mean \"ttl\"?); known keys: \
             connect_wait, token_base, ttl, wait",
            path.display()
        )
    );
}

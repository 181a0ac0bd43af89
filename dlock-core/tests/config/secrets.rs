//! Logins whose password has a place of its own, and what is never printed.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Mutex};

use dlock_core::{
    Error, ErrorKind,
    config::{Config, Credentials, Login, LoginKeys, Password, Registry},
};

const PASSWORD: &str = "hunter2";

/// The login of `url` as a backend takes it, and that of other keys.
fn logins(url: &str) -> Result<[Login; 2], String> {
    const OTHER: LoginKeys = LoginKeys {
        user: "other_user",
        password: "other_password",
        password_file: "other_password_file",
        password_env: "other_password_env",
    };
    let found = std::sync::Arc::new(Mutex::new(None));
    let slot = found.clone();
    let registry = Registry::new().register("probe", move |settings| {
        settings.take_hosts();
        let logins = [Login::take(settings)?, Login::take_keys(settings, OTHER)?];
        *slot.lock().unwrap() = Some(logins);
        Ok(Box::pin(async { Err(Error::closed()) }))
    });
    let config = Config::from_url(url).map_err(|error| error.to_string())?;
    registry.check(&config).map_err(|error| error.to_string())?;
    let taken = found.lock().unwrap().take();
    Ok(taken.expect("the factory ran"))
}

fn refused(url: &str) -> String {
    let line = logins(url).expect_err(url);
    assert!(!line.contains(PASSWORD), "{line}");
    line.strip_prefix("cannot connect (probe): ")
        .expect(&line)
        .to_owned()
}

fn of_file(path: &Path) -> Result<Credentials, String> {
    let login = Login::new("app", Password::file(path));
    login.read().map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        let line = error.to_string();
        assert!(!line.contains(PASSWORD), "{line}");
        line.replace(&*path.to_string_lossy(), "FILE")
    })
}

#[test]
fn a_login_is_in_the_url_or_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("password");
    fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let file = file.display();
    for url in [
        "probe://app:hunter2@h",
        "probe://:hunter2@h?user=app",
        &format!("probe://h?user=app&password_file={file}"),
        &format!("probe://app@h?password_file={file}"),
        &format!("probe://h?other_user=app&other_password_file={file}"),
        "probe://h?other_user=app&other_password=hunter2",
    ] {
        let read = logins(url)
            .unwrap()
            .map(|login| login.read().expect("read"));
        let of_app = read.iter().filter_map(Credentials::pair);
        let pairs: Vec<_> = of_app
            .map(|(user, password)| (user, password.expose()))
            .collect();
        assert_eq!(pairs, [("app", PASSWORD)], "{url}");
    }
}

#[test]
fn a_login_that_is_given_twice_is_refused() {
    assert_eq!(
        refused("probe://app@h?user=app"),
        "the user is given twice: in the URL and by user="
    );
    for url in [
        "probe://:hunter2@h?password_file=/f",
        "probe://h?password_file=/f&password_env=E",
    ] {
        let why = "the password is given twice; allowed is one of the URL's own, password_file and password_env";
        assert_eq!(refused(url), why);
    }
    let why = "the password is given twice; allowed is one of other_password, other_password_file and \
               other_password_env";
    assert_eq!(
        refused("probe://h?other_password=hunter2&other_password_env=E"),
        why
    );
}

#[test]
fn a_password_in_the_place_of_a_variables_name_is_not_quoted() {
    let why = "password_env is the name of an environment variable, of letters, digits and \"_\"";
    for name in ["hunter2!", "2hunter2", "hunter2 "] {
        let login = Login::new("app", Password::env(name));
        assert_eq!(login.check().expect_err(name).to_string(), why);
    }
    assert_eq!(refused("probe://h?password_env=hunter2!"), why);
}

#[test]
fn a_file_is_read_each_time_and_has_the_password_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("password");
    let why = "cannot read the password file FILE: ";
    assert!(of_file(&path).expect_err("missing").starts_with(why));
    assert!(of_file(directory.path()).is_err());
    for (text, password) in [
        ("hunter2", "hunter2"),
        ("hunter2\n", "hunter2"),
        ("hunter2\r\n", "hunter2"),
        (" a b ", " a b "),
    ] {
        fs::write(&path, text).unwrap();
        let read = of_file(&path).unwrap();
        assert_eq!(read.password().unwrap().expose(), password, "{text:?}");
    }
    for (text, why) in [
        ("", "the password file FILE is empty"),
        ("\n", "the password file FILE is empty"),
        (
            "hunter2\n\n",
            "the password file FILE has more than one line, or a control character; it has the password alone",
        ),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(of_file(&path).expect_err(text), why, "{text:?}");
    }
    fs::write(&path, b"hunter2\xff").unwrap();
    let why = "the password file FILE is not UTF-8";
    assert_eq!(of_file(&path).expect_err("bytes"), why);
    fs::write(&path, "x".repeat(4097)).unwrap();
    assert!(of_file(&path).expect_err("long").contains("more than 4096"));
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let login = Login::from_parts(None, Some(Password::env("DLOCK_TEST_NOT_SET")));
    login.check().expect("a name");
    let why = "the environment variable DLOCK_TEST_NOT_SET of the password is not set";
    assert_eq!(login.read().expect_err("not set").to_string(), why);
    // One that each test has.
    let login = Login::from_parts(None, Some(Password::env("CARGO_PKG_NAME")));
    let read = login.read().expect("cargo sets it");
    assert_eq!(read.password().unwrap().expose(), "dlock-core");
}

#[test]
fn a_password_that_was_read_is_masked() {
    let login = Login::new("app", PASSWORD);
    let read = login.read().unwrap();
    assert!(!format!("{login:?} {read:?}").contains(PASSWORD));
    // The place of a password is none.
    let config = Config::from_url("probe://h?password_file=/run/p&other_password=hunter2").unwrap();
    assert_eq!(
        config.to_string(),
        "probe://h?other_password=***&password_file=/run/p"
    );
}

#[test]
fn a_file_with_a_password_that_all_can_read_is_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dlock.toml");
    let warning = |text: &str, mode: u32| {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Config::from_file(&path).unwrap().warning()
    };
    let secret = "url = 'redis://:hunter2@h'";
    for mode in [0o666, 0o644, 0o604] {
        let line = warning(secret, mode).expect("a warning");
        let why = "has a password, and every user of this machine can read it; run chmod o= ";
        assert!(line.contains(why) && !line.contains(PASSWORD), "{line}");
    }
    assert_eq!(warning(secret, 0o640), None);
    let place = "url = 'redis://h'\npassword_file = '/run/p'";
    assert_eq!(warning(place, 0o644), None);
    let sentinel = "url = 'redis-sentinel://h/s'\nsentinel_password = 'hunter2'";
    assert!(warning(sentinel, 0o644).is_some());
    assert_eq!(
        Config::from_url("redis://:hunter2@h").unwrap().warning(),
        None
    );
}

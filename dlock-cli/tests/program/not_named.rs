//! No silent local lock: a store that no user has named.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    process::{Command, Output},
};

use rustix::process::geteuid;

use crate::support::{Store, one_line};

const LINE: &str = "dlock: no store is configured: locks are files of this user, and exclude no other host; set \
                    --url, DLOCK_URL, dlock.toml or /etc/dlock.toml (--url file: for these locks)";

/// A lock of the user's own directory that no other test uses.
const NAME: &str = "dlock-test/not-named";

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn output(mut command: Command) -> Output {
    command.output().expect("dlock starts")
}

#[test]
fn without_a_store_there_is_a_line() {
    let store = Store::new();
    for args in [
        &["run", NAME, "--", "echo", "ran"][..],
        &["run", NAME, "--quiet", "--skip-ok", "--", "echo", "ran"],
        &["inspect", NAME],
    ] {
        assert_eq!(one_line(&output(store.bare(args))), LINE);
    }
}

#[test]
fn a_store_that_is_named_has_no_line() {
    let store = Store::new();
    let run = ["run", NAME, "--", "true"];
    let default = store.bare(&["--url", "file:", "run", NAME, "--", "true"]);
    let mut environment = store.bare(&run);
    environment.env("DLOCK_URL", "file:");
    for command in [default, environment] {
        let output = output(command);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(said(&output), "");
    }
    let toml = format!("url = {:?}\n", store.url());
    fs::write(store.file("dlock.toml"), toml).expect("file");
    assert_eq!(said(&output(store.bare(&run))), "");
}

#[test]
fn a_store_can_be_required() {
    let store = Store::new();
    let run = |value: &str, args: &[&str]| {
        let mut command = store.bare(args);
        command.env("DLOCK_REQUIRE_URL", value);
        output(command)
    };
    let refused = run("1", &["run", NAME, "--", "echo", "ran"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(refused.stdout.is_empty());
    assert_eq!(
        one_line(&refused),
        "dlock: no store is configured, and DLOCK_REQUIRE_URL requires one; allowed are DLOCK_URL, DLOCK_CONFIG, \
         dlock.toml and /etc/dlock.toml"
    );
    for (value, args) in [
        ("0", &["run", NAME, "--", "true"][..]),
        ("", &["run", NAME, "--", "true"]),
        ("1", &["--url", "file:", "run", NAME, "--", "true"]),
    ] {
        let output = run(value, args);
        assert!(output.status.success(), "{value:?}: {output:?}");
    }
}

#[test]
fn a_user_without_a_home_reads_that_no_store_was_configured() {
    // In a name space without users the user has none.
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        env!("CARGO_BIN_EXE_dlock"),
        "run",
        NAME,
        "--",
        "true",
    ]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).current_dir("/");
    let output = output(command);
    assert!(!output.status.success(), "{output:?}");
    let said = said(&output);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert_eq!(lines[0], LINE);
    assert!(lines[1].contains("cannot connect (file)"), "{said}");
}

#[test]
fn the_file_of_the_machine_is_read_last() {
    let store = Store::new();
    let etc = store.file("etc");
    fs::create_dir(&etc).expect("directory");
    let toml = format!("url = {:?}\n", store.url());
    fs::write(etc.join("dlock.toml"), toml).expect("file");
    // In a name space of its own, with another /etc.
    let script = "mount --bind \"$0\" /etc && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script]);
    command.arg(&etc).arg(env!("CARGO_BIN_EXE_dlock"));
    command.args(["-v", "run", "a", "--", "true"]);
    command.current_dir(store.locks());
    for variable in ["DLOCK_URL", "DLOCK_CONFIG", "DLOCK_REQUIRE_URL"] {
        command.env_remove(variable);
    }
    let output = output(command);
    let said = said(&output);
    assert!(
        said.contains(&format!(
            "the store is {}, from /etc/dlock.toml",
            store.url()
        )),
        "{said}"
    );
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_file_that_others_may_have_written_is_refused() {
    let store = Store::new();
    let path = store.file("dlock.toml");
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("mode");
    fs::write(&path, "url = \"redis://:hunter2@127.0.0.1:1\"\n").expect("file");
    mode(0o666);
    let run = || output(store.bare(&["run", "a", "--", "true"]));
    let refused = run();
    assert_eq!(refused.status.code(), Some(64));
    assert_eq!(
        one_line(&refused),
        "dlock: dlock.toml: it has a password and the mode 666, which lets others write it; allowed is at most 644"
    );

    if geteuid().is_root() {
        let toml = format!("url = {:?}\n", store.url());
        fs::write(&path, toml).expect("file");
        mode(0o600);
        chown(&path, Some(64321), None).expect("owner");
        let refused = run();
        assert_eq!(refused.status.code(), Some(64));
        assert_eq!(
            one_line(&refused),
            "dlock: dlock.toml: its owner is the user 64321, allowed is root; to use it, name it in \
             DLOCK_CONFIG"
        );
        let mut named = store.bare(&["run", "a", "--", "true"]);
        assert!(
            output_of(named.env("DLOCK_CONFIG", &path)).status.success(),
            "the user has named it"
        );
    }
}

fn output_of(command: &mut Command) -> Output {
    command.output().expect("dlock starts")
}

#[test]
fn a_missing_file_is_reported_with_the_variable_that_names_it() {
    let store = Store::new();
    let mut command = store.bare(&["inspect", "a"]);
    command.env("DLOCK_CONFIG", "/nope.toml");
    assert_eq!(
        one_line(&output(command)),
        "dlock: /nope.toml: there is no such file; DLOCK_CONFIG names it"
    );
}

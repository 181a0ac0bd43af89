//! Words of other programs: the word that does the same here.

use crate::support::{Store, one_line};

fn refused(args: &[&str]) -> String {
    let output = Store::new().output(args);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    one_line(&output).split_off("dlock: ".len())
}

#[test]
fn options_of_flock_and_consul_have_one_hint() {
    for (option, hint) in [
        ("-n", "not to wait, use --try"),
        ("--nonblock", "not to wait, use --try"),
        ("-w", "to wait for a time, use --wait, such as --wait 5s"),
        (
            "--timeout",
            "to wait for a time, use --wait, such as --wait 5s",
        ),
        (
            "-E",
            "for exit code 0 when the lock is taken, use --skip-ok",
        ),
        ("-c", "put the command after --, as in -- sh -c '…'"),
    ] {
        for args in [
            &["run", option, "5", "a", "--", "true"][..],
            &["run", "a", option, "--", "true"],
        ] {
            let line = format!("unexpected argument '{option}' found; {hint}; try --help");
            assert_eq!(refused(args), line);
        }
    }
    let line = refused(&["run", "a", "--timeout=5", "--", "true"]);
    assert!(line.contains("use --wait"), "{line}");
}

#[test]
fn a_slip_has_one_tip() {
    assert_eq!(
        refused(&["run", "a", "--wiat", "5s", "--", "true"]),
        "unexpected argument '--wiat' found; tip: a similar argument exists: '--wait'; try --help"
    );
}

#[test]
fn subcommands_of_others_are_translated() {
    for (word, hint) in [
        ("status", "use `dlock inspect NAME`"),
        ("lock", "use `dlock run NAME -- CMD`"),
        ("unlock", "a lock is released when its command ends"),
        ("check", "use `dlock verify URL`"),
    ] {
        let line = refused(&[word]);
        assert!(line.contains(hint) && !line.contains("tip:"), "{line}");
    }
}

#[test]
fn inspect_has_no_command() {
    assert_eq!(
        refused(&["inspect", "a", "b"]),
        "unexpected argument 'b' found; inspect takes one NAME, and no command; try --help"
    );
}

#[test]
fn help_of_help_is_help() {
    let store = Store::new();
    for option in ["--help", "-h"] {
        let output = store
            .bare(&["help", option])
            .output()
            .expect("dlock starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains("Usage: dlock"), "{text}");
    }
}

#[test]
fn urls_without_the_scheme_of_dlock_have_a_hint() {
    let store = Store::new();
    for (url, hint) in [
        ("localhost:6379", "did you mean \"redis://localhost:6379\"?"),
        ("zookeeper://zoo-1", "did you mean \"zk\"?"),
        ("10.0.0.1:2181", "such as zk://"),
    ] {
        let output = store.bare(&["--url", url, "inspect", "a"]).output();
        let output = output.expect("dlock starts");
        assert_eq!(output.status.code(), Some(64));
        let line = one_line(&output);
        assert!(line.contains(hint), "{line}");
    }
}

#[test]
fn stores_that_are_refused_are_not_listed() {
    let store = Store::new();
    let output = store
        .bare(&["--url", "nosuch://x", "inspect", "a"])
        .output();
    let line = one_line(&output.expect("dlock starts"));
    assert!(line.contains("known: ") && line.contains("file"), "{line}");
    assert!(!line.contains("memory"), "{line}");

    let output = store.bare(&["--version"]).output().expect("dlock starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (_, stores) = text.split_once("stores: ").expect("the stores");
    assert!(
        stores.contains("file") && !stores.contains("memory"),
        "{text}"
    );
    for (scheme, is_built_in) in [
        ("redis", cfg!(feature = "redis")),
        ("etcd", cfg!(feature = "etcd")),
    ] {
        assert_eq!(stores.contains(scheme), is_built_in, "{text}");
    }
    let output = store.bare(&["--help"]).output().expect("dlock starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("redis://"), "{text}");
}

#[test]
fn a_name_may_begin_with_a_dash() {
    let store = Store::new();
    let script = "echo \"$DLOCK_NAME\"";
    let output = store.output(&["run", "--name", "-x", "--", "sh", "-c", script]);
    assert_eq!(output.stdout, b"-x\n", "{output:?}");
    let output = store.output(&["inspect", "--", "-x"]);
    assert_eq!(output.stdout, b"-x is free\n", "{output:?}");
}

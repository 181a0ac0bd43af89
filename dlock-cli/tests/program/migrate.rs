//! `dlock migrate`, from one directory to another.

use std::{fs, thread, time::Duration};

use crate::support::Store;

/// Above the tokens of files.
const BASE: &str = "token_base=9007199254740992";

/// The old store, and the URLs of the new one and of both.
pub(crate) struct Move {
    pub(crate) store: Store,
    pub(crate) old: String,
    new: String,
    pub(crate) both: String,
}

impl Move {
    pub(crate) fn new() -> Self {
        let store = Store::new();
        let folder = store.file("new");
        fs::create_dir(&folder).expect("directory");
        let (old, new) = (store.url(), format!("file:{}?{BASE}", folder.display()));
        let both = format!("migrate:?from={old}&to=file:{}%3F{BASE}", folder.display());
        Self {
            store,
            old,
            new,
            both,
        }
    }

    /// Exit code, stdout and stderr of a step.
    pub(crate) fn step(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let (step, options) = words.split_first().expect("a step");
        let mut arguments = vec!["migrate", *step, &self.old, &self.new];
        arguments.extend(options);
        self.bare(&arguments)
    }

    pub(crate) fn bare(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.store.bare(arguments).output().expect("dlock starts");
        let (out, err) = (text(output.stdout), text(output.stderr));
        (output.status.code(), out, err)
    }

    fn token(&self, url: &str) -> Result<u64, String> {
        let run = ["--url", url, "run", "a", "--", "printenv", "DLOCK_TOKEN"];
        match self.bare(&run) {
            (Some(0), out, _) => Ok(out.trim().parse().expect("a token")),
            (_, _, err) => Err(err),
        }
    }
}

#[test]
fn locks_move_and_each_wrong_url_is_refused() {
    let all = Move::new();
    let first = all.token(&all.old).expect("the old store");
    let refused = all.token(&all.both).expect_err("not begun");
    assert!(refused.contains("dlock migrate start"), "{refused}");

    let (code, out, _) = all.step(&["start"]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("old  leaving") && out.contains("new  arriving"),
        "{out}"
    );
    let (code, out, _) = all.step(&["check"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("a lock was taken as programs"), "{out}");
    let refused = all.token(&all.new).expect_err("too early");
    assert!(refused.contains("locks move to this store"), "{refused}");
    let second = all.token(&all.both).expect("both");
    let third = all.token(&all.old).expect("the old store");
    assert!(first < second && second < third);

    let (code, _, err) = all.step(&["switch"]);
    assert_eq!(code, Some(64));
    assert!(err.contains("--no-others"), "{err}");
    let (code, out, _) = all.step(&["switch", "--no-others"]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("old  left") && out.contains("new  arrived"),
        "{out}"
    );
    let refused = all.token(&all.old).expect_err("too late");
    assert!(refused.contains("have moved to file:"), "{refused}");
    let fourth = all.token(&all.both).expect("both");
    let fifth = all.token(&all.new).expect("the new store");
    assert!(third < fourth && fourth < fifth);
    let (code, _, err) = all.step(&["cancel"]);
    assert_eq!(code, Some(64), "{err}");
}

#[test]
fn a_plan_has_the_urls_and_touches_nothing() {
    let store = Store::new();
    let plan = [
        "migrate",
        "plan",
        "redis://:hunter2@127.0.0.1:1",
        "etcd://127.0.0.1:1",
    ];
    let output = store.bare(&plan).output().expect("dlock starts");
    let (out, err) = (text(output.stdout), text(output.stderr));
    if cfg!(all(feature = "redis", feature = "etcd")) {
        assert_eq!(output.status.code(), Some(0), "{err}");
        let new = format!("DLOCK_URL='etcd://127.0.0.1:1?{BASE}'");
        assert!(out.contains(&new), "{out}");
        assert!(
            out.contains("migrate:?from=redis://:***%40127.0.0.1:1&to="),
            "{out}"
        );
    } else {
        assert!(err.contains("is not built in"), "{err}");
    }
    assert!(!out.contains("hunter2") && !err.contains("hunter2"));
}

#[cfg(all(feature = "mysql", feature = "redis", feature = "zk"))]
#[test]
fn a_plan_has_a_base_above_the_tokens_of_the_old_store() {
    let store = Store::new();
    let (redis, mysql) = ("redis://127.0.0.1:1", "mysql://app@127.0.0.1:1/locks");
    let zk = "zk://127.0.0.1:1";
    let again = format!("{redis}?{BASE}");
    for (old, new, base) in [
        (redis, mysql, BASE),
        (mysql, redis, BASE),
        (zk, redis, BASE),
        (redis, zk, BASE),
        (&*again, mysql, "token_base=18014398509481984"),
    ] {
        let plan = ["migrate", "plan", old, new];
        let output = store.bare(&plan).output().expect("dlock starts");
        let out = text(output.stdout);
        assert!(out.contains(&format!("DLOCK_URL='{new}?{base}'")), "{out}");
    }
}

#[test]
fn steps_out_of_order_and_bases_are_refused() {
    let all = Move::new();
    for step in ["switch", "cancel"] {
        let others: &[&str] = if step == "switch" {
            &["--no-others"]
        } else {
            &[]
        };
        let (code, _, err) = all.step(&[&[step], others].concat());
        assert_eq!(code, Some(64));
        assert!(
            err.contains("was begun; run \"dlock migrate start\""),
            "{err}"
        );
    }
    let small = all.new.split('?').next().expect("a URL");
    let (code, _, err) = all.bare(&["migrate", "start", &all.old, small]);
    assert_eq!(code, Some(64));
    assert!(err.contains("needed is 9007199254740992"), "{err}");
    let (largest, next) = (
        "token_base=4611686018427387904",
        "no token_base= is large enough",
    );
    let old = format!("{}?{largest}", all.old);
    for step in ["plan", "start"] {
        let (code, _, err) = all.bare(&["migrate", step, &old, &all.new]);
        assert_eq!(code, Some(64));
        assert!(err.contains(next), "{step}: {err}");
    }
    let (code, _, err) = all.bare(&["migrate", "start", &all.old, &all.old]);
    assert_eq!(code, Some(64));
    assert!(err.contains("the same store"), "{err}");
    let (code, out, _) = all.step(&["status"]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("no migration; next: dlock migrate plan"),
        "{out}"
    );
}

#[test]
fn the_stores_are_given_once() {
    let all = Move::new();
    let step = ["--url", &all.old, "migrate", "status", &all.old, &all.new];
    let (code, _, err) = all.bare(&step);
    assert_eq!(code, Some(64));
    assert!(err.contains("leave out --url"), "{err}");
}

#[test]
fn steps_are_json_too() {
    let all = Move::new();
    let (_, out, _) = all.step(&["plan", "--json"]);
    let start = format!(
        "{{\"format\":\"dlock-migrate/1\",\"old\":\"{}\",\"both\":",
        all.old
    );
    assert!(out.starts_with(&start) && out.contains(&all.both), "{out}");
    let (_, out, _) = all.step(&["status", "--json"]);
    assert_eq!(
        out,
        "{\"format\":\"dlock-migrate/1\",\"old\":null,\"new\":null,\"next\":\"plan\",\
         \"next_text\":\"no migration; next: dlock migrate plan\"}\n"
    );
    let (_, out, _) = all.step(&["start", "--json"]);
    assert!(out.contains("\"stage\":\"leaving\""), "{out}");
    assert!(out.contains("\"stage\":\"arriving\""), "{out}");
    assert!(out.contains("\"next\":\"programs-to-both\""), "{out}");
}

#[test]
fn a_new_store_whose_locks_are_in_use_is_refused() {
    let all = Move::new();
    // The URLs are swapped.
    let start = ["migrate", "start", &all.new, &with_base(&all.old)];
    let held = ["run", "report", "--", "sh", "-c", "echo held; read -r line"];
    let program = all.store.start(&held);
    assert_eq!(program.line(), "held");
    let (code, _, err) = all.bare(&start);
    assert_eq!(code, Some(64));
    assert!(
        err.contains("report.lock; are OLD and NEW swapped?"),
        "{err}"
    );
    let (_, out, _) = all.step(&["status", "--json"]);
    assert!(out.contains("\"old\":null,\"new\":null"), "{out}");
    drop(program);
    // The file is still there, and it is free.
    let freed = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(100));
        all.store.is_free("report")
    });
    assert!(freed);
    let (code, _, err) = all.bare(&start);
    assert_eq!(code, Some(0), "{err}");
}

fn with_base(url: &str) -> String {
    // Above that of the other one.
    format!("{url}?token_base=18014398509481984")
}

#[test]
fn the_status_is_known_while_one_store_is_down() {
    let all = Move::new();
    all.step(&["start"]);
    all.step(&["switch", "--no-others"]);
    let locks = all.store.locks();
    let away = all.store.file("away");
    fs::rename(&locks, &away).expect("the old store is away");
    // In its place is a file.
    fs::write(&locks, "").expect("a file");
    let (code, out, err) = all.step(&["status"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("old  not known: "), "{out}");
    assert!(out.contains("the old one need not answer"), "{out}");
    let (_, out, _) = all.step(&["status", "--json"]);
    assert!(out.contains("\"old_error\":\""), "{out}");
    assert!(out.contains("\"next\":\"programs-to-new\""), "{out}");
    let nowhere = format!("{}/none", locks.display());
    let neither = [
        "migrate",
        "status",
        &*format!("file:{nowhere}/a"),
        &*format!("file:{nowhere}/b"),
    ];
    let (code, _, err) = all.bare(&neither);
    assert_ne!(code, Some(0));
    assert!(err.contains("neither store can be read"), "{err}");
}

#[test]
fn an_old_store_that_is_empty_after_the_switch_gets_its_record_again() {
    let all = Move::new();
    all.step(&["start"]);
    all.step(&["switch", "--no-others"]);
    let locks = all.store.locks();
    fs::remove_dir_all(&locks).expect("the old store is empty");
    fs::create_dir(&locks).expect("directory");
    let (_, out, _) = all.step(&["status"]);
    assert!(
        out.contains("next: dlock migrate switch, once more"),
        "{out}"
    );
    // Programs start without it, and a check says what is wrong.
    all.token(&all.both).expect("the new store counts");
    let (code, _, err) = all.step(&["check"]);
    assert_eq!(code, Some(64), "{err}");
    assert!(
        err.contains("next: dlock migrate switch, once more"),
        "{err}"
    );
    let (code, _, err) = all.step(&["switch", "--no-others"]);
    assert_eq!(code, Some(0), "{err}");
    let refused = all.token(&all.old).expect_err("it is left");
    assert!(refused.contains("have moved to file:"), "{refused}");
}

#[test]
fn a_cancel_says_what_programs_need() {
    let all = Move::new();
    all.step(&["start"]);
    let (code, out, err) = all.step(&["cancel"]);
    assert_eq!(code, Some(0));
    assert!(
        err.contains(&format!("all programs need {} alone", all.old)),
        "{err}"
    );
    assert!(err.contains("Neither store refuses a program now"), "{err}");
    assert!(out.contains("it was cancelled"), "{out}");
    let refused = all.token(&all.both).expect_err("over");
    assert!(
        refused.contains("was cancelled: use the URL in from= alone"),
        "{refused}"
    );
}

#[test]
fn a_way_back_says_what_programs_must_not_have() {
    let all = Move::new();
    all.step(&["start"]);
    all.step(&["switch", "--no-others"]);
    let (code, _, err) = all.bare(&["migrate", "start", &all.new, &with_base(&all.old)]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("the locks came from there earlier"), "{err}");
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

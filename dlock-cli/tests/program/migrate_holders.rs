//! Holders in the old store alone, before the switch of `dlock migrate`.

use crate::{migrate::Move, support::Program};

#[test]
fn a_holder_in_the_old_store_alone_is_named() {
    let all = Move::new();
    all.step(&["start"]);
    let held = ["run", "report", "--", "sh", "-c", "echo held; read -r line"];
    let program = all.store.start(&held);
    assert_eq!(program.line(), "held");
    let run = |wait: &[&str]| {
        let words = [
            &["--url", &*all.both, "run", "report"],
            wait,
            &["--", "true"],
        ]
        .concat();
        all.bare(&words)
    };
    let (code, _, err) = run(&["--wait", "3s"]);
    assert_eq!(code, Some(75), "{err}");
    let begin = "dlock: waiting: \"report\": ";
    let named = err.lines().find(|line| line.starts_with(begin));
    let named = named.unwrap_or_else(|| panic!("nothing is said without -v: {err}"));
    assert!(
        named.contains("holds the lock in the old store alone; change the URL"),
        "{err}"
    );
    let (code, _, err) = run(&["--try"]);
    assert_eq!(code, Some(75));
    assert!(err.contains("in the old store alone"), "{err}");
}

#[test]
fn holders_in_the_old_store_alone_are_listed() {
    let all = Move::new();
    let alone = "held in the old store alone: ";
    let (_, out, _) = all.step(&["status"]);
    assert!(!out.contains(alone), "before the start: {out}");
    all.step(&["start"]);
    for step in ["status", "check"] {
        let (_, out, _) = all.step(&[step]);
        assert!(
            out.contains(&format!("{alone}none at this moment\n")),
            "{out}"
        );
    }
    let hold = |url: &str, name: &str| {
        let words = [
            "--url",
            url,
            "run",
            name,
            "--",
            "sh",
            "-c",
            "echo held; read -r line",
        ];
        let program = Program::start(all.store.bare(&words));
        assert_eq!(program.line(), "held");
        program
    };
    let on_both = hold(&all.both, "both");
    let on_old: Vec<_> = ["a", "b/2", "c", "d", "e", "f", "g"]
        .map(|name| hold(&all.old, name))
        .into();
    let (_, out, _) = all.step(&["status"]);
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let [a, b] = [&on_old[0], &on_old[1]].map(|program| program.pid().as_raw_pid());
    let begin = format!("{alone}\"a\" by {a}@{host}, \"b/2\" by {b}@{host}, \"c\" by ");
    assert!(out.contains(&begin), "no {begin} in {out}");
    assert!(
        out.contains(" and 2 more\n") && !out.contains("\"both\""),
        "{out}"
    );
    let (_, out, _) = all.step(&["status", "--json"]);
    assert!(
        out.contains("\"old_alone\":{\"holders\":[{\"name\":\"a\","),
        "{out}"
    );
    assert!(out.contains("],\"more\":2}"), "{out}");
    drop((on_both, on_old));
}

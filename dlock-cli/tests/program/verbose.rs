//! `-v`: what dlock does, in words.

use crate::support::Store;

fn said(store: &Store, args: &[&str]) -> String {
    let output = store.output(args);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn it_says_what_it_does_in_words() {
    let store = Store::new();
    let said = said(&store, &["-v", "run", "a", "--", "true"]);
    let url = store.url();
    let begins = [
        format!("dlock: the store is {url}, from the argument"),
        "dlock: requesting the lock \"a\" for 30s at a time".to_owned(),
        "dlock: waited ".to_owned(),
        "dlock: held \"a\" for ".to_owned(),
    ];
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), begins.len(), "{said}");
    for (line, begin) in lines.iter().zip(&begins) {
        assert!(line.starts_with(begin), "{line}");
    }
    assert!(lines[2].contains(" ms for \"a\", token "), "{said}");
    assert!(lines[3].ends_with(" ms"), "{said}");
}

#[test]
fn twice_it_shows_traces() {
    let store = Store::new();
    let said = said(&store, &["-vv", "run", "a", "--", "true"]);
    assert!(
        said.contains(" INFO ") && said.contains("dlock_cli::run"),
        "{said}"
    );
}

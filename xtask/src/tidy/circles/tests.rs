use std::{collections::BTreeSet, fs, path::PathBuf};

use super::*;

/// A crate in a folder of its own, removed when dropped.
struct Crate(PathBuf);

impl Crate {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root =
            std::env::temp_dir().join(format!("xtask-circles-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root.canonicalize().unwrap())
    }

    fn edges(&self) -> Vec<(String, String)> {
        let modules = modules::load(&self.0.join("lib.rs")).unwrap();
        let edges = imports::edges(&modules).into_iter();
        edges
            .map(|(from, to)| (relative(&from, &self.0), relative(&to, &self.0)))
            .collect()
    }
}

impl Drop for Crate {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn edges(name: &str, files: &[(&str, &str)]) -> Vec<(String, String)> {
    Crate::new(name, files).edges()
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

#[test]
fn imports_and_paths_are_uses_of_files() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; fn f() -> B { super::c::g() }"),
        ("b.rs", "pub struct B; fn g() { assert!(crate::c::g()); }"),
        ("c.rs", "pub fn g() -> bool { true }"),
    ];
    let found = [
        pair("a.rs", "b.rs"),
        pair("a.rs", "c.rs"),
        pair("b.rs", "c.rs"),
    ];
    assert_eq!(edges("paths", &files), found);
}

#[test]
fn a_re_export_leads_to_the_file_that_defines() {
    let files = [
        (
            "lib.rs",
            "mod a; mod b; pub use a::A; pub use crate::b::inner::B;",
        ),
        ("a.rs", "use crate::B; pub struct A(B);"),
        (
            "b/mod.rs",
            "pub(crate) mod inner; pub(crate) use self::inner::B;",
        ),
        ("b/inner.rs", "pub struct B;"),
    ];
    assert_eq!(edges("re-export", &files), [pair("a.rs", "b/inner.rs")]);
}

#[test]
fn a_folders_root_that_uses_its_children_is_no_mere_list() {
    let files = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod b; use b::B; pub struct A(B);"),
        ("a/b.rs", "pub struct B; fn f(a: super::A) {}"),
    ];
    let found = [pair("a/b.rs", "a/mod.rs"), pair("a/mod.rs", "a/b.rs")];
    assert_eq!(edges("root", &files), found);
}

#[test]
fn names_through_an_imported_module_count_and_the_import_does_not() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "use crate::{b, c::{self}}; fn f() { select! { _ = b::go() => x.b } }",
        ),
        ("b.rs", "pub fn go() {}"),
        ("c.rs", "pub fn go() {}"),
    ];
    assert_eq!(edges("module", &files), [pair("a.rs", "b.rs")]);
}

#[test]
fn unit_tests_and_other_crates_are_left_out() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "use std::fmt; use tokio::b; #[cfg(test)] mod tests { use crate::b::B; }",
        ),
        (
            "b.rs",
            "pub struct B; #[cfg(test)] use crate::a::A; #[cfg(all(test, unix))] fn f(a: crate::a::A) {}",
        ),
    ];
    assert!(edges("tests", &files).is_empty());
}

#[test]
fn a_circle_is_shown_with_an_example() {
    let circle = vec!["a.rs".to_owned(), "b.rs".to_owned()];
    let edges = Edges::from([
        ("a.rs".to_owned(), BTreeSet::from(["b.rs".to_owned()])),
        ("b.rs".to_owned(), BTreeSet::from(["a.rs".to_owned()])),
    ]);
    let finding = finding(&edges, &circle).to_string();
    assert!(
        finding.starts_with("a.rs: a circle of 2, such as a.rs → b.rs → a.rs;"),
        "{finding}"
    );
}

//! Operating systems: the crates that a client of a server needs keep what only one has in one small module each.

use super::{finding::Finding, tree::TextFile};

/// The sources of the crates that shall build on every system. dlock-file, the program and the tests need Unix.
const PORTABLE: &[&str] = &[
    "dlock/src/",
    "dlock-core/src/",
    "dlock-etcd/src/",
    "dlock-mysql/src/",
    "dlock-redis/src/",
    "dlock-zk/src/",
];

/// The modules that may name a system.
const MODULES: &[&str] = &[
    "dlock-core/src/base/system.rs",
    "dlock-redis/src/conn/system.rs",
];

/// Crates, paths and conditions that are of one system or one family.
const WORDS: &[&str] = &[
    "rustix",
    "nix::",
    "libc::",
    "std::os",
    "os::unix",
    "os::fd",
    "signal::unix",
    "target_os",
    "target_family",
    "cfg(unix",
    "cfg(windows",
    "not(unix",
    "\"/proc",
];

/// Every line outside of those modules that names a system.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let portable = files.iter().filter(|file| is_portable(&file.path));
    portable
        .flat_map(|file| {
            let lines = broken(&file.text);
            lines.map(|line| Finding::of_line(&file.path, line, rule()))
        })
        .collect()
}

fn is_portable(path: &str) -> bool {
    let is_listed = PORTABLE.iter().any(|folder| path.starts_with(folder));
    is_listed && path.ends_with(".rs") && !MODULES.contains(&path)
}

/// The lines of code, from 1, that name a system.
fn broken(text: &str) -> impl Iterator<Item = usize> {
    let code = (1..).zip(text.lines());
    let code = code.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter(|(_, line)| WORDS.iter().any(|word| line.contains(word)))
        .map(|(number, _)| number)
}

fn rule() -> String {
    format!(
        "what only one operating system has is in {}",
        MODULES.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        broken(text).collect()
    }

    #[test]
    fn a_system_is_found_in_code() {
        for line in [
            "use std::{io, os::unix::fs::MetadataExt};",
            "let now = rustix::time::clock_gettime(ID);",
            "#[cfg(target_os = \"linux\")]",
            "#[cfg(unix)]",
            "use tokio::signal::unix::signal;",
        ] {
            assert_eq!(
                lines(&format!("//! rustix\nfn f() {{}}\n{line}\n")),
                [3],
                "{line}"
            );
        }
        assert_eq!(
            lines("/// On unix: rustix, `std::os`.\nlet phoenix = 1;"),
            [0; 0]
        );
    }

    #[test]
    fn only_the_crates_for_every_system_are_read() {
        assert!(is_portable("dlock-zk/src/config.rs"));
        for path in [
            "dlock-core/src/base/system.rs",
            "dlock-file/src/keys.rs",
            "dlock-cli/src/main.rs",
            "dlock-core/tests/config/sources.rs",
            "dlock-redis/README.md",
        ] {
            assert!(!is_portable(path), "{path}");
        }
    }
}

//! How a server is set up.

use std::{ffi::OsString, path::Path};

use super::Flavour;
use crate::{Program, SetClock};

/// How a server is set up; by default as its distributor has it, but small.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "tests write it as a literal")]
pub struct Options {
    /// Further options of the command line, such as `--read-only=ON`.
    pub arguments: Vec<String>,
    /// The server's clock, if that is set; else the machine's.
    pub clock: Option<SetClock>,
}

/// The arguments that keep a server from reading the machine's own settings, and small.
const SMALL: [&str; 3] = [
    "--no-defaults",
    "--user=root",
    "--innodb-buffer-pool-size=32M",
];

/// The directory of a server's data, within its own.
pub(super) const DATA: &str = "data";

/// The command line without the program, for making the data and for running alike.
pub(super) fn common(flavour: Flavour, program: &Program, directory: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = SMALL.map(OsString::from).to_vec();
    let mut path = |option: &str, path: &Path| {
        let mut word = OsString::from(option);
        word.push(path);
        words.push(word);
    };
    path("--datadir=", &directory.join(DATA));
    // Servers that start together take the same names for temporary files.
    path("--tmpdir=", directory);
    match flavour {
        Flavour::MariaDbStable => words.push("--innodb-log-file-size=8M".into()),
        Flavour::MySqlNewest => {
            // The server searches its files in the directory that it was built for.
            let set = program.root().unwrap_or_else(|| Path::new("/"));
            path("--basedir=", &set.join("usr"));
            path("--lc-messages-dir=", &set.join("usr/share/mysql"));
            path("--plugin-dir=", &set.join("usr/lib/mysql/plugin"));
            path(
                "--character-sets-dir=",
                &set.join("usr/share/mysql/charsets"),
            );
            let fixed = [
                "--secure-file-priv=",
                "--mysqlx=OFF",
                "--innodb-redo-log-capacity=8M",
            ];
            words.extend(fixed.map(OsString::from));
        }
    }
    words
}

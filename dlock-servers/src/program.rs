//! The program of a server.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::SetClock;

/// The set of the newest servers, below the target directory: `cargo xtask setup` has the same path.
const SET: &str = "servers/sid";

/// The target directory, below the root of the workspace.
const TARGET: &str = "target";

/// How to get what is missing.
const HINT: &str = "cargo xtask setup gets it";

/// A program that is there.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program's name, or a loader and what it is to load.
    words: Vec<OsString>,
    /// The set that it is from.
    root: Option<PathBuf>,
    /// Whether it runs with a clock that is set.
    under_clock: bool,
}

impl Program {
    /// The machine's own program `name`.
    ///
    /// # Errors
    ///
    /// Why it cannot be run, in a line.
    pub fn installed(name: &str) -> Result<Self, String> {
        // Servers are for administrators: their directory is often not in a user's PATH.
        let path = env::var_os("PATH").unwrap_or_default();
        let directories = env::split_paths(&path).chain(["/usr/sbin".into()]);
        let mut found = directories.map(|directory| directory.join(name));
        match found.find(|program| program.is_file()) {
            Some(program) => Ok(Self {
                words: vec![program.into()],
                root: None,
                under_clock: false,
            }),
            None => Err(format!("{name} is not installed; {HINT}")),
        }
    }

    /// The program at `path` in the set of the newest servers, such as `usr/bin/etcd`.
    ///
    /// It is run with its own loader and libraries, which are newer than the machine's.
    ///
    /// # Errors
    ///
    /// Why it cannot be run, in a line.
    pub fn newest(path: &str) -> Result<Self, String> {
        let (libraries, loader) = match env::consts::ARCH {
            "x86_64" => ("usr/lib/x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
            "aarch64" => ("usr/lib/aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
            other => {
                return Err(format!(
                    "the set of the newest servers has none for {other}"
                ));
            }
        };
        let program = in_newest_set(path)?;
        let loader = in_newest_set(&format!("{libraries}/{loader}"))?;
        Ok(Self {
            words: vec![
                loader.into(),
                "--library-path".into(),
                in_newest_set(libraries)?.into(),
                program.into(),
            ],
            root: newest_set().map(Path::to_owned),
            under_clock: false,
        })
    }

    /// Makes the program run with a clock that is set.
    ///
    /// # Errors
    ///
    /// Why there can be no such clock, in a line.
    pub fn under(mut self, clock: &SetClock) -> Result<Self, String> {
        self.words.splice(0..0, clock.words()?);
        self.under_clock = true;
        Ok(self)
    }

    /// The root directory of the set that it is from; `None` for the machine's own program.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Whether it runs with a clock that is set.
    pub(crate) fn is_under_clock(&self) -> bool {
        self.under_clock
    }

    /// The words of its command line, without arguments.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        &self.words
    }
}

/// A file of the set of the newest servers. A server starts in its own directory, so the path must not
/// depend on ours.
pub(super) fn in_newest_set(path: &str) -> Result<PathBuf, String> {
    let file = newest_set().map(|set| set.join(path));
    let file = file.filter(|file| file.exists());
    file.ok_or_else(|| format!("{path} of the newest servers is not there; {HINT}"))
}

/// A file below the target directory, which `cargo xtask setup` has installed.
pub(super) fn in_target(path: &Path) -> Result<PathBuf, String> {
    let mut files = targets().map(|target| target.join(path));
    let file = files.find(|file| file.exists());
    file.ok_or_else(|| format!("{} is not there; {HINT}", path.display()))
}

/// The set of the newest servers; `None` if this is not a checkout, or it has none.
///
/// It is found from this program or the current directory, as cargo starts tests: a program that is shipped has no path
/// of the machine that built it.
fn newest_set() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let mut sets = targets().map(|target| target.join(SET));
        sets.find(|set| set.is_dir())
    };
    FOUND.get_or_init(find).as_deref()
}

/// The directories that may be the target directory.
fn targets() -> impl Iterator<Item = PathBuf> {
    let program = env::current_exe().unwrap_or_default();
    let directory = env::current_dir().unwrap_or_default();
    let roots = directory.ancestors().map(|root| root.join(TARGET));
    let programs = program.ancestors().map(Path::to_owned);
    let all: Vec<_> = programs.chain(roots).collect();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_says_how_to_get_it() {
        for missing in [
            Program::installed("no-such-server"),
            Program::newest("usr/bin/no-such-server"),
        ] {
            let why = missing.unwrap_err();
            assert!(why.contains("no-such-server"), "{why}");
            assert!(why.contains("cargo xtask setup"), "{why}");
        }
    }
}

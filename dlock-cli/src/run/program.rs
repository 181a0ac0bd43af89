//! The program that a command names, as the system finds it.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::Read as _,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

/// The longest first line of a script that Linux reads.
const FIRST_LINE_MAX: u64 = 256;

/// The file of `program`: a path, or what is found in `PATH`.
pub(crate) fn find(program: &OsStr) -> Option<PathBuf> {
    let is_there = |path: &PathBuf| path.is_file();
    if program.as_bytes().contains(&b'/') {
        return Some(program.into()).filter(is_there);
    }
    let path = env::var_os("PATH")?;
    let mut candidates = env::split_paths(&path).map(|directory| directory.join(program));
    candidates.find(is_there)
}

/// The interpreter that the first line of a script names, as in `#!/bin/sh`.
pub(crate) fn interpreter(script: &Path) -> Option<String> {
    let mut head = Vec::new();
    let file = File::open(script).ok()?;
    file.take(FIRST_LINE_MAX).read_to_end(&mut head).ok()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    let line = str::from_utf8(line).ok()?.strip_prefix("#!")?;
    // A script with the line ends of Windows names one that is not there, either.
    let word = line
        .trim_start_matches([' ', '\t'])
        .split([' ', '\t'])
        .next()?;
    Some(word.to_owned()).filter(|word| !word.is_empty())
}

/// Programs that run another one in a session of its own, so that no signal to the group reaches it.
const OTHER_SESSION: [&str; 3] = ["su", "sudo", "setsid"];

/// Whether dlock may be unable to end what `program` runs, as far as that is known before.
pub(crate) fn may_escape(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default();
    if OTHER_SESSION.iter().any(|other| name == *other) {
        return true;
    }
    let file = find(program).and_then(|path| path.metadata().ok());
    file.is_some_and(|file| changes_user(file.mode(), file.uid(), geteuid().as_raw()))
}

/// Whether a file with this mode and owner runs as a user to whom `user` may send no signal.
fn changes_user(mode: u32, owner: u32, user: u32) -> bool {
    const SET_USER_ID: u32 = 0o4000;
    mode & SET_USER_ID != 0 && owner != user && user != 0
}

/// Whether the word is more likely a line of a shell than a program.
pub(crate) fn is_shell_line(program: &OsStr) -> bool {
    let bytes = program.as_bytes();
    bytes.iter().any(|byte| b" \t|&;<>$`*?".contains(byte)) && !bytes.starts_with(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shells_line_is_known_by_its_characters() {
        for line in ["echo hi && echo there", "a|b", "ls *.txt", "echo $HOME"] {
            assert!(is_shell_line(OsStr::new(line)), "{line}");
        }
        for program in ["true", "./run-it.sh", "/opt/my tools/run", ""] {
            assert!(!is_shell_line(OsStr::new(program)), "{program}");
        }
    }

    #[test]
    fn what_runs_as_another_user_may_escape() {
        for (mode, owner, user, escapes) in [
            (0o104_755, 0, 1000, true),
            (0o104_755, 0, 0, false),
            (0o104_755, 1000, 1000, false),
            (0o100_755, 0, 1000, false),
        ] {
            assert_eq!(
                changes_user(mode, owner, user),
                escapes,
                "{mode:o} {owner} {user}"
            );
        }
        for program in ["su", "/usr/bin/sudo", "setsid"] {
            assert!(may_escape(OsStr::new(program)), "{program}");
        }
        for program in ["true", "/bin/sh", "no-such-command", "sudoku", ""] {
            assert!(!may_escape(OsStr::new(program)), "{program}");
        }
    }

    #[test]
    fn a_program_is_found_as_the_system_finds_it() {
        let found = find(OsStr::new("sh")).expect("a shell");
        assert!(found.is_absolute() && found.ends_with("sh"), "{found:?}");
        assert_eq!(find(found.as_os_str()), Some(found));
        assert_eq!(find(OsStr::new("no-such-command")), None);
        assert_eq!(find(OsStr::new("/no/such/command")), None);
    }
}

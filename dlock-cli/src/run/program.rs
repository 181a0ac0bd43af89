//! The program that a command names, as the system finds it.

use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

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
    fn a_program_is_found_as_the_system_finds_it() {
        let found = find(OsStr::new("sh")).expect("a shell");
        assert!(found.is_absolute() && found.ends_with("sh"), "{found:?}");
        assert_eq!(find(found.as_os_str()), Some(found));
        assert_eq!(find(OsStr::new("no-such-command")), None);
        assert_eq!(find(OsStr::new("/no/such/command")), None);
    }
}

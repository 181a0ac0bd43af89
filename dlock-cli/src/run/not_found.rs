//! Why a command is not found: a line of a shell, a missing interpreter, or a wrong name.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::Read as _,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

/// The bytes of a script in which the kernel searches for the interpreter.
const FIRST_LINE_MAX: u64 = 256;

/// The characters that only a shell reads as more than text.
const OF_SHELLS: &[u8] = b" \t\n|&;<>()$`*?";

/// The reason why the system does not find `program`, with what to do.
pub(super) fn why(program: &OsStr) -> String {
    if let Some(file) = file_of(program) {
        return match interpreter_of(&file) {
            Some(interpreter) => format!("its interpreter {interpreter:?} is not there"),
            None => "it is there, but its loader is not; was it built for another system?".into(),
        };
    }
    match program
        .as_bytes()
        .iter()
        .any(|byte| OF_SHELLS.contains(byte))
    {
        true => "not found; for a line of a shell, use sh -c '…'".into(),
        false => "not found; give its path, or check PATH".into(),
    }
}

/// The file that the system runs for `program`, if there is one.
fn file_of(program: &OsStr) -> Option<PathBuf> {
    if program.is_empty() {
        return None;
    }
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let paths = env::var_os("PATH")?;
    let mut candidates = env::split_paths(&paths).map(|directory| directory.join(program));
    candidates.find(|path| path.is_file())
}

/// The program that a script names after `#!`.
fn interpreter_of(file: &PathBuf) -> Option<OsString> {
    let mut begin = Vec::new();
    let script = File::open(file).ok()?;
    script.take(FIRST_LINE_MAX).read_to_end(&mut begin).ok()?;
    let line = begin
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let mut words = line.split(|byte| b" \t".contains(byte));
    let interpreter = words.find(|word| !word.is_empty())?;
    Some(OsString::from_vec(interpreter.to_vec()))
}

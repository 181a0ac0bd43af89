//! The last step before the command: the new process is dlock once more, ties its life to its
//! parent's, and becomes the command.
//!
//! A parent-death signal can only be set by the child itself, and code between fork and exec would
//! be unsafe; so `dlock run` starts `dlock __exec PARENT -- CMD ARG…`.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::Command,
};

use rustix::process::{self, Pid};

use crate::{
    base::{
        exit::{Exit, Failure},
        output::describe,
    },
    run::program,
};

/// The first argument that selects this step.
const WORD: &str = "__exec";

/// The arguments that make a new dlock become `command`, and die with this one.
pub(crate) fn arguments(command: &[OsString]) -> impl Iterator<Item = OsString> {
    let own = process::getpid().as_raw_nonzero().to_string();
    let head = [WORD.into(), own.into(), "--".into()];
    head.into_iter().chain(command.iter().cloned())
}

/// Whether the process `pid`, which was started so, has not become its command yet; false where the system does not
/// say.
pub(crate) fn is_pending(pid: Pid) -> bool {
    let path = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
    // In the middle of an exec there are no arguments, and no handler of the command's.
    fs::read(path).is_ok_and(|line| {
        line.is_empty() || line.split(|byte| *byte == 0).nth(1) == Some(WORD.as_bytes())
    })
}

/// Becomes the command if `arguments` (without the program's name) select this step; returns only when they
/// do not, or when it failed.
pub(crate) fn become_command(arguments: &[OsString]) -> Option<Failure> {
    let [word, rest @ ..] = arguments else {
        return None;
    };
    if word != WORD {
        return None;
    }
    let [parent, dashes, program, rest @ ..] = rest else {
        return Some(misuse());
    };
    let parent = parent
        .to_str()
        .and_then(|text| text.parse().ok())
        .and_then(Pid::from_raw);
    let Some(parent) = parent.filter(|_| dashes == "--") else {
        return Some(misuse());
    };
    if let Err(failure) = die_with(parent) {
        return Some(failure);
    }
    let error = Command::new(program).args(rest).exec();
    Some(cannot_run(program, &error))
}

/// Requests SIGKILL from the kernel for the death of the parent, and checks that it still lives.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn die_with(parent: Pid) -> Result<(), Failure> {
    if let Err(error) = process::set_parent_process_death_signal(Some(process::Signal::KILL)) {
        let why = describe(&error.into());
        return Err(Failure::new(
            Exit::INTERNAL,
            format!("cannot request that the command ends with dlock: {why}"),
        ));
    }
    if process::getppid() != Some(parent) {
        return Err(Failure::new(
            Exit::LOST,
            "dlock ended before the command began; the command is not run",
        ));
    }
    Ok(())
}

/// Other systems have no such signal: there the command outlives a killed dlock.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn die_with(_parent: Pid) -> Result<(), Failure> {
    Ok(())
}

/// Why `program` cannot be run, with the exit code that shells and env(1) give.
fn cannot_run(program: &OsStr, error: &io::Error) -> Failure {
    let (exit, why) = match error.kind() {
        io::ErrorKind::NotFound => (Exit::NOT_FOUND, not_found(program)),
        io::ErrorKind::PermissionDenied => (
            Exit::NOT_EXECUTABLE,
            "permission denied; check that it is a program and executable (chmod +x)".to_owned(),
        ),
        _ => (Exit::NOT_EXECUTABLE, describe(error)),
    };
    Failure::new(exit, format!("cannot run {program:?}: {why}"))
}

/// Why the system finds no program of this name.
fn not_found(program: &OsStr) -> String {
    let interpreter = program::find(program).and_then(|script| program::interpreter(&script));
    if let Some(interpreter) = interpreter.filter(|path| !Path::new(path).exists()) {
        return format!(
            "its first line names the interpreter {interpreter:?}, which is not there; install it, or correct that \
             line"
        );
    }
    if program::is_shell_line(program) {
        let line = program.to_string_lossy().replace('\'', r"'\''");
        return format!("it is a line of a shell; run it by: sh -c '{line}'");
    }
    "not found; give its path, or check PATH".to_owned()
}

fn misuse() -> Failure {
    Failure::usage(format!("{WORD} is for internal use; use `dlock run`"))
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_process_in_this_step_is_recognized() {
        assert!(!is_pending(process::getpid()));
        let mut child = Command::new("yes");
        let child = child.arg(WORD).stdout(Stdio::null()).spawn();
        let mut child = child.expect("yes starts");
        let was_pending = is_pending(Pid::from_child(&child));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert!(was_pending);
    }
}

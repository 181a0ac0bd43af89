//! The guardian: a small process that ends the command's process group when dlock is killed.
//!
//! The system kills the command itself then (`reexec`), but not the command's children. The guardian is dlock once more.
//! It reads from a pipe whose other end only dlock has, so the pipe ends with dlock. The guardian kills at once and
//! without a TERM before: no process renews the lock any more, and in some stores it is free already.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};

use crate::base::{
    exit::Exit,
    output::{describe, say},
};

/// The first argument that selects this process.
const WORD: &str = "__guardian";

/// More bytes than the number of a group has.
const MESSAGE_BYTES_MAX: u64 = 64;

/// The guardian of one command, for the dlock that has started both. It kills the group when this is dropped.
#[derive(Debug)]
pub(crate) struct Guardian(Child);

impl Guardian {
    /// Starts the guardian as `dlock`, the path of this very program. It has no signals of the command's group or of a
    /// terminal, none of dlock's environment, and none of its files but stderr.
    pub(crate) fn start(dlock: &Path) -> io::Result<Self> {
        let started = Command::new(dlock)
            .arg0("dlock")
            .arg(WORD)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        started.map(Self)
    }

    /// Names the group to kill. A command whose dlock is killed before that has no children yet.
    pub(crate) fn watch(&mut self, group: Pid) {
        if let Some(pipe) = &mut self.0.stdin {
            // Fails only if the guardian was killed: then the command alone ends with dlock.
            let _ = writeln!(pipe, "{}", group.as_raw_nonzero());
        }
    }

    /// Ends the guardian, and leaves the group alone.
    pub(crate) fn dismiss(mut self) {
        // Both fail only if it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Is the guardian if `arguments` (without the program's name) select it; returns when its work is done.
pub(crate) fn serve(arguments: &[OsString]) -> Option<Exit> {
    if arguments.first().is_none_or(|word| word != WORD) {
        return None;
    }
    let mut message = String::new();
    let mut pipe = io::stdin().lock().take(MESSAGE_BYTES_MAX);
    let read = pipe.read_to_string(&mut message);
    if read.is_ok()
        && let Some(group) = group(&message)
    {
        match kill_process_group(group, Signal::KILL) {
            Ok(()) => say("dlock was killed; its command is killed, too"),
            Err(Errno::SRCH) => {}
            Err(error) => {
                let why = describe(&error.into());
                say(&format!("dlock was killed; its command goes on: {why}"));
            }
        }
    }
    Some(Exit::OK)
}

/// The group in a message. The number 1 is none: a signal to it reaches all processes.
fn group(message: &str) -> Option<Pid> {
    let number: i32 = message.trim().parse().ok()?;
    Pid::from_raw(number).filter(|_| number > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_number_of_a_group_is_one() {
        assert_eq!(group("4711\n"), Pid::from_raw(4711));
        for message in ["", "\n", "0", "1", "x", "4711 12", "99999999999"] {
            assert_eq!(group(message), None, "{message:?}");
        }
    }
}

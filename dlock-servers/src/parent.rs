//! The parent of all servers: one thread that lives as long as this process.
//!
//! A server must not outlive a test that is killed. Only the kernel can see to that: it signals a child whose
//! parent dies, if the child requested it. The request takes code between fork and exec, which is unsafe. So
//! setpriv (util-linux) makes it, and becomes the server. A re-execution of the test binary would need a hook in
//! the `main` of each, which the standard test harness does not have.
//!
//! To the kernel the parent is the *thread* that forked. A test's thread ends with the test, and with
//! it would go the servers that several tests share.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt as _,
    process::{Child, Command},
    sync::{
        LazyLock,
        mpsc::{Sender, channel},
    },
    thread,
};

/// Runs the rest of its words, unless the process that its first word names is not its parent any more. That one
/// died before setpriv could request the signal.
const IF_PARENT_LIVES: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

struct Start {
    command: Command,
    started: Sender<io::Result<Child>>,
}

static PARENT: LazyLock<Sender<Start>> = LazyLock::new(|| {
    let (sender, receiver) = channel::<Start>();
    thread::spawn(move || {
        for Start {
            mut command,
            started,
        } in receiver
        {
            // A child that is not awaited any more is killed: no other code knows of it.
            if let Err(unwanted) = started.send(command.spawn())
                && let Ok(mut child) = unwanted.0
            {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    });
    sender
});

/// A command that runs `words` in a process that the kernel kills when this process ends.
pub(super) fn command(words: impl IntoIterator<Item = OsString>) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "sh", "-c", IF_PARENT_LIVES])
        .arg(std::process::id().to_string())
        .args(words)
        // Ctrl-C reaches this process alone, which ends its servers when it has no more need of them.
        .process_group(0);
    command
}

/// Starts `command`, as a child of the thread that lives as long as this process.
///
/// # Errors
///
/// When it cannot be started.
pub(super) fn start(command: Command) -> io::Result<Child> {
    let (started, answer) = channel();
    // If the thread is gone, so is the sender of the answer.
    let _ = PARENT.send(Start { command, started });
    let gone = |_| io::Error::other("the thread that starts servers has ended");
    answer.recv().map_err(gone)?
}

//! The command as a running process.

use std::{
    cell::RefCell,
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use dlock::{Fencing, Guard};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};

use crate::{
    base::{
        exit::{Exit, Failure},
        output::describe,
    },
    cli::args::Run,
    run::{
        environment, guardian::Guardian, orphans::Orphans, reexec, terminal::Terminal, tree::Tree,
    },
};

/// The command, as the supervisor uses it; a trait so that it can be tested on a paused clock.
pub(crate) trait Process {
    /// Sends `signal` to it, and to its process group where it has one of its own.
    fn send(&self, signal: Signal);

    /// Whether it has become the command: before that, a signal ends it without one.
    fn has_begun(&self) -> bool;

    /// Waits for the command itself, not for what it left in the background.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    async fn wait(&mut self) -> io::Result<ExitStatus>;
}

/// A started command. It is killed when this is dropped before its end.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// The command's process id, which is also that of its group where it leads one.
    pid: Option<Pid>,
    leads_group: bool,
    /// The processes of the command, where it leads no group.
    tree: RefCell<Tree>,
    /// Ends the group if dlock is killed. On a terminal the group is that of dlock's shell, too, and has none.
    guardian: Option<Guardian>,
    has_ended: bool,
    _orphans: Option<Orphans>,
}

impl Running {
    /// Starts `command` under `guard`. To be called from the main thread. The parent-death signal is tied to the
    /// thread that forked, and this one lives as long as the process.
    pub(crate) fn start(
        args: &Run,
        guard: &Guard,
        fencing: Fencing,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let command = &args.command;
        let leads_group = terminal == Terminal::Absent;
        let program = command.first().map(OsString::as_os_str).unwrap_or_default();
        let failed = |error| {
            let why = missing().unwrap_or_else(|| describe(&error));
            Failure::new(
                Exit::NOT_EXECUTABLE,
                format!("cannot start {program:?}: {why}"),
            )
        };
        let this_program = this_program().map_err(failed)?;
        let guardian = leads_group.then(|| Guardian::start(&this_program));
        let mut guardian = guardian.transpose().map_err(failed)?;
        let mut dlock = Command::new(this_program);
        dlock
            .arg0("dlock")
            .args(reexec::arguments(command))
            .kill_on_drop(true);
        environment::set(&mut dlock, guard, fencing, args.keep_url);
        if leads_group {
            dlock.process_group(0);
        }
        let child = dlock.spawn().map_err(failed)?;
        let pid = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        if let (Some(guardian), Some(group)) = (&mut guardian, pid) {
            guardian.watch(group);
        }
        Ok(Self {
            child,
            pid,
            leads_group,
            tree: RefCell::default(),
            guardian,
            has_ended: false,
            _orphans: Orphans::wait_for_all_but(pid),
        })
    }
}

impl Process for Running {
    fn send(&self, signal: Signal) {
        let Some(pid) = self.pid else { return };
        if self.leads_group {
            // It fails only when no process is left to receive it.
            let _ = kill_process_group(pid, signal);
            return;
        }
        let running = self.child.id().map(|_| pid);
        let mut tree = self.tree.borrow_mut();
        match (signal, running) {
            (Signal::KILL, running) => tree.kill(running),
            (signal, Some(pid)) => {
                if signal == Signal::TERM {
                    // What it leaves behind would not be found as its own any more.
                    tree.add(pid);
                }
                let _ = kill_process(pid, signal);
            }
            (_, None) => {}
        }
    }

    fn has_begun(&self) -> bool {
        !self.pid.is_some_and(reexec::is_pending)
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.has_ended = true;
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What the command left in the background goes on.
        if let Some(guardian) = self.guardian.take().filter(|_| self.has_ended) {
            guardian.dismiss();
        }
    }
}

/// The path of this very program; on Linux also when its file was replaced or removed while we waited for the
/// lock.
fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok("/proc/self/exe".into())
    } else {
        env::current_exe()
    }
}

/// The first file that the start of a command needs and the system does not have, as in a bare root.
fn missing() -> Option<String> {
    let needed = ["/proc/self/exe", "/dev/null"];
    let needed = needed
        .into_iter()
        .filter(|_| cfg!(target_os = "linux"))
        .find(|path| !Path::new(path).exists())?;
    Some(format!(
        "{needed} is not there; mount /proc and /dev into this root"
    ))
}

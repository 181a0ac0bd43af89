//! Controls of any server: kill, terminate, stop, continue, restart.

/// Gives a node with a `process` and a `resume` the controls of each of them.
macro_rules! controls {
    ($node:ty) => {
        impl $node {
            /// The process id while the process runs.
            #[must_use]
            pub fn pid(&self) -> Option<rustix::process::Pid> {
                self.process.pid()
            }

            /// Kills it (SIGKILL); nothing to do when it does not run.
            ///
            /// # Errors
            ///
            /// As [`Process::kill`](crate::Process::kill).
            pub fn kill(&mut self) -> std::io::Result<()> {
                self.process.kill()
            }

            /// Ends it as an administrator would (SIGTERM).
            ///
            /// # Errors
            ///
            /// As [`Process::terminate`](crate::Process::terminate).
            ///
            /// # Cancel safety
            ///
            /// It has the signal, and may still be running.
            pub async fn terminate(&mut self) -> std::io::Result<()> {
                self.process.terminate().await
            }

            /// Kills it, then starts it again: its clients see a crash.
            ///
            /// # Errors
            ///
            /// As [`kill`](Self::kill) and [`resume`](Self::resume).
            ///
            /// # Cancel safety
            ///
            /// It may be down.
            pub async fn restart(&mut self) -> std::io::Result<()> {
                self.kill()?;
                self.resume().await
            }

            /// Stops it where it is (SIGSTOP): connections stay open, and nothing answers.
            ///
            /// # Errors
            ///
            /// When it does not run.
            pub fn stop(&self) -> std::io::Result<()> {
                self.process.stop()
            }

            /// Lets it go on (SIGCONT).
            ///
            /// # Errors
            ///
            /// When it does not run.
            pub fn cont(&self) -> std::io::Result<()> {
                self.process.cont()
            }

            /// The process itself: its id, directory and log.
            #[must_use]
            pub fn process(&self) -> &crate::Process {
                &self.process
            }
        }
    };
}

pub(super) use controls;

//! The versions of etcd that tests use.

use crate::Program;

/// A version of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavour {
    /// The version of the machine's distribution: 3.4 on Debian 12.
    Stable,
    /// The newest of the set: 3.5 or later.
    Newest,
}

impl Flavour {
    /// All versions.
    pub const ALL: [Self; 2] = [Self::Stable, Self::Newest];

    /// The flavour's name in the names of tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "etcd-stable",
            Self::Newest => "etcd-newest",
        }
    }

    /// Finds the server's program.
    ///
    /// # Errors
    ///
    /// Why it cannot be tested here, in a line.
    pub fn find(self) -> Result<Program, String> {
        self.program("etcd")
    }

    /// Finds the client program, `etcdctl`.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub fn find_client(self) -> Result<Program, String> {
        self.program("etcdctl")
    }

    fn program(self, name: &str) -> Result<Program, String> {
        match self {
            Self::Stable => Program::installed(name),
            Self::Newest => Program::newest(&format!("usr/bin/{name}")),
        }
    }
}

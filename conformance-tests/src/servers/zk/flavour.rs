//! Which ZooKeepers there are.

use std::path::{Path, PathBuf};

use crate::servers::Program;

/// What the servers load beside themselves, as far as it is not in the list of their own jar.
const JARS: [&str; 7] = [
    "zookeeper.jar",
    "zookeeper-jute.jar",
    "slf4j-api.jar",
    "slf4j-simple.jar",
    "metrics-core.jar",
    "netty-codec.jar",
    "netty-resolver.jar",
];

/// The server's program.
const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// A version of ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavour {
    /// As the machine's distribution has it: 3.8 on Debian 12.
    Stable,
}

/// A Java and the jars that it runs.
#[derive(Clone, Debug)]
pub struct Java {
    pub(super) program: Program,
    pub(super) class_path: String,
}

impl Flavour {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Stable];

    /// Its name in the names of tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "zk-stable",
        }
    }

    /// Its program.
    ///
    /// # Errors
    ///
    /// Why it cannot be tested here, in a line.
    pub fn find(self) -> Result<Java, String> {
        Java::with(&JARS)
    }
}

impl Java {
    /// The machine's own Java with these of its jars.
    ///
    /// # Errors
    ///
    /// What is missing, in a line.
    pub fn with(jars: &[&str]) -> Result<Self, String> {
        let directory = Path::new("/usr/share/java");
        let jars: Vec<PathBuf> = jars.iter().map(|jar| directory.join(jar)).collect();
        if let Some(missing) = jars.iter().find(|jar| !jar.is_file()) {
            let missing = missing.display();
            return Err(format!("{missing} is not there; cargo xtask setup gets it"));
        }
        let jars: Vec<_> = jars.iter().map(|jar| jar.display().to_string()).collect();
        Ok(Self {
            program: Program::of_the_system("java")?,
            class_path: jars.join(":"),
        })
    }

    /// The jars, separated by colons.
    #[must_use]
    pub fn class_path(&self) -> &str {
        &self.class_path
    }

    /// What comes before the server's own argument, with further properties.
    pub(super) fn arguments(&self, properties: &[String]) -> Vec<String> {
        let mut arguments = [
            // Little memory, and a quick start.
            "-Xmx192m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Djava.net.preferIPv4Stack=true",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
            // What a killed process wrote is kept by the system; tests do not cut the power.
            "-Dzookeeper.forceSync=no",
            "-Dzookeeper.admin.enableServer=false",
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.extend(properties.iter().map(|property| format!("-D{property}")));
        arguments.extend(["-cp".to_owned(), self.class_path.clone(), MAIN.to_owned()]);
        arguments
    }
}

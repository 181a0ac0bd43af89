//! The versions of ZooKeeper that tests use.

use std::path::{Path, PathBuf};

use super::options::Tuning;
use crate::{Program, program::in_newest_set};

/// The folder of Debian's jars.
const DIRECTORY: &str = "/usr/share/java";

/// The servers themselves. The last names the machine's own jars, of which it must not find the first.
const OWN: [&str; 2] = ["zookeeper-jute.jar", "zookeeper.jar"];

/// The other jars that the servers load, as far as they are not in the list of their own jar.
const OTHERS: [&str; 16] = [
    "slf4j-api.jar",
    "slf4j-simple.jar",
    "metrics-core.jar",
    "netty-codec.jar",
    "netty-resolver.jar",
    // Of the AdminServer.
    "jackson-annotations.jar",
    "jackson-core.jar",
    "jackson-databind.jar",
    "jetty9-http.jar",
    "jetty9-io.jar",
    "jetty9-security.jar",
    "jetty9-server.jar",
    "jetty9-servlet.jar",
    "jetty9-util-ajax.jar",
    "jetty9-util.jar",
    "servlet-api.jar",
];

/// The jars that Curator loads, its own among them.
const CURATOR: [&str; 9] = [
    "curator-recipes.jar",
    "curator-framework.jar",
    "curator-client.jar",
    "zookeeper.jar",
    "zookeeper-jute.jar",
    "guava.jar",
    "slf4j-api.jar",
    "slf4j-nop.jar",
    "metrics-core.jar",
];

/// The arguments for tests.
const SMALL: [&str; 4] = [
    // Little memory, and a quick start.
    "-Xmx192m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    // The system keeps what a killed process wrote; tests do not cut the power.
    "-Dzookeeper.forceSync=no",
];

/// The server's program.
const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// A version of ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavour {
    /// The version of the machine's distribution: 3.8 on Debian 12.
    Stable,
    /// The newest of the set: 3.9 or later, run by the machine's own Java.
    Newest,
}

/// A Java and the jars that it runs.
#[derive(Clone, Debug)]
pub struct Java {
    pub(super) program: Program,
    pub(super) class_path: String,
}

impl Flavour {
    /// All versions.
    pub const ALL: [Self; 2] = [Self::Stable, Self::Newest];

    /// The flavour's name in the names of tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "zk-stable",
            Self::Newest => "zk-newest",
        }
    }

    /// Finds the server's program.
    ///
    /// # Errors
    ///
    /// Why it cannot be tested here, in a line.
    pub fn find(self) -> Result<Java, String> {
        let own = match self {
            Self::Stable => installed(&OWN)?,
            Self::Newest => OWN
                .iter()
                .map(|jar| in_newest_set(&format!("usr/share/java/{jar}")))
                .collect::<Result<_, _>>()?,
        };
        Java::running([own, installed(&OTHERS)?].concat())
    }
}

impl Java {
    /// The machine's own Java with Curator's jars.
    ///
    /// # Errors
    ///
    /// What is missing, in a line.
    pub fn with_curator() -> Result<Self, String> {
        Self::running(installed(&CURATOR)?)
    }

    fn running(jars: Vec<PathBuf>) -> Result<Self, String> {
        let jars: Vec<_> = jars.iter().map(|jar| jar.display().to_string()).collect();
        Ok(Self {
            program: Program::installed("java")?,
            class_path: jars.join(":"),
        })
    }

    /// The jars, separated by colons.
    #[must_use]
    pub fn class_path(&self) -> &str {
        &self.class_path
    }

    /// The arguments before the server's own argument, with further properties.
    pub(super) fn arguments(&self, tuning: Tuning, properties: &[String]) -> Vec<String> {
        let tuned: &[&str] = match tuning {
            Tuning::Small => &SMALL,
            Tuning::Stock => &[],
        };
        let common = [
            "-Djava.net.preferIPv4Stack=true",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
            "-Dzookeeper.admin.enableServer=false",
        ];
        let words = tuned.iter().chain(&common);
        let mut arguments: Vec<String> = words.map(|&word| word.to_owned()).collect();
        arguments.extend(properties.iter().map(|property| format!("-D{property}")));
        arguments.extend(["-cp".to_owned(), self.class_path.clone(), MAIN.to_owned()]);
        arguments
    }
}

fn installed(jars: &[&str]) -> Result<Vec<PathBuf>, String> {
    let jars: Vec<_> = jars
        .iter()
        .map(|jar| Path::new(DIRECTORY).join(jar))
        .collect();
    match jars.iter().find(|jar| !jar.is_file()) {
        None => Ok(jars),
        Some(missing) => Err(format!(
            "{} is not there; cargo xtask setup gets it",
            missing.display()
        )),
    }
}

//! The programs of `dlock-peers/clients` that are built: in Go, and in Java with the jars of Maven.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::clients;
use crate::{
    command::Tool,
    failure::{Failure, Result},
    metadata::Metadata,
};

/// The sources.
const SOURCES: &str = "dlock-peers/clients";

/// The sources in Java that all clients have.
const COMMON: [&str; 2] = ["Peer.java", "Workloads.java"];

/// The distribution's jars that Curator's program is compiled with.
const CURATOR: &str = "/usr/share/java/curator-recipes.jar:/usr/share/java/curator-framework.jar:\
                       /usr/share/java/curator-client.jar:/usr/share/java/zookeeper.jar";

/// A client in Java.
#[derive(Clone, Copy)]
pub(super) struct Java {
    /// The folder of its `pom.xml`, and of what is built.
    pub(super) name: &'static str,
    pub(super) class: &'static str,
}

pub(super) const REDISSON: Java = Java {
    name: "redisson",
    class: "RedissonPeer",
};
pub(super) const JETCD: Java = Java {
    name: "jetcd",
    class: "JetcdPeer",
};
pub(super) const SHEDLOCK: Java = Java {
    name: "shedlock",
    class: "ShedLockPeer",
};
/// The client whose jars are the distribution's, as in the tests.
pub(super) const CURATOR_OF_DEBIAN: Java = Java {
    name: "curator",
    class: "CuratorPeer",
};

fn sources(language: &str) -> Result<PathBuf> {
    let root = Metadata::read()?.workspace_root;
    Ok(root.join(SOURCES).join(language))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Whether `built` is newer than each file of the folder of the sources.
fn is_new(built: &Path, sources: &Path) -> bool {
    let Some(built) = modified(built) else {
        return false;
    };
    let files = fs::read_dir(sources).into_iter().flatten().flatten();
    let mut times = files.filter_map(|file| modified(&file.path()));
    times.all(|time| time <= built)
}

pub(super) fn has_go() -> bool {
    let places = (clients::folder("go/peers"), sources("go"));
    matches!(places, (Ok(built), Ok(sources)) if is_new(&built, &sources))
}

pub(super) fn get_go() -> Result<()> {
    Tool::new("go")
        .args(["build", "-o"])
        .args([clients::folder("go/peers")?])
        .args(["."])
        .in_folder(&sources("go")?)
        .run()
}

impl Java {
    fn folder(self) -> Result<PathBuf> {
        clients::folder(&format!("java/{}", self.name))
    }

    fn compiled(self) -> Result<PathBuf> {
        let file = format!("classes/{}.class", self.class);
        Ok(self.folder()?.join(file))
    }

    pub(super) fn is_there(self) -> bool {
        let places = (self.compiled(), sources("java"));
        matches!(places, (Ok(built), Ok(sources)) if is_new(&built, &sources))
    }

    /// Downloads the jars that its `pom.xml` names, and compiles it.
    ///
    /// # Errors
    ///
    /// At the first command that fails.
    pub(super) fn get(self) -> Result<()> {
        let (folder, sources) = (self.folder()?, sources("java")?);
        let classes = folder.join("classes");
        fs::create_dir_all(&classes)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", classes.display())))?;
        let pom = sources.join(self.name).join("pom.xml");
        let class_path = if pom.is_file() {
            let jars = folder.join("lib");
            Tool::new("mvn")
                .args(["--batch-mode", "--quiet", "-Dstyle.color=never", "--file"])
                .args([pom])
                .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
                .args([format!("-DoutputDirectory={}", jars.display())])
                .run()?;
            format!("{}/*", jars.display())
        } else {
            CURATOR.to_owned()
        };
        let own = format!("{}.java", self.class);
        let files = COMMON.iter().copied().chain([own.as_str()]);
        Tool::new("javac")
            .args(["-cp", &class_path, "-d"])
            .args([classes])
            .args(files.map(|file| sources.join(file)))
            .run()
    }
}

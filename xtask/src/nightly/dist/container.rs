//! The image of the container file: built where a program for that works, else its only file in a root.

use std::path::Path;

use super::{root::Root, server::Redis};
use crate::{
    command::Tool,
    dist,
    failure::{Failure, Result},
    step::skip,
};

const IMAGE: &str = "dlock-nightly";

/// The user of the image.
const USER: &str = "--userspec=65534:65534";

pub(super) fn run(project: &Path, redis: &Redis) -> Result<()> {
    let shipped = dist::folder(project);
    let works = |engine: &&str| Tool::new("timeout").args(["20", engine, "info"]).succeeds();
    if let Some(engine) = ["docker", "podman"].into_iter().find(works) {
        Tool::new(engine)
            .args([
                "build",
                "--quiet",
                "--tag",
                IMAGE,
                "--file",
                dist::CONTAINERFILE,
                ".",
            ])
            .in_folder(&shipped)
            .run()?;
        return Tool::new(engine)
            .args(["run", "--rm", "--network", "host", IMAGE])
            .args(["--url", &redis.url("localhost")])
            .args(["run", "image", "--", "dlock", "--version"])
            .run();
    }
    skip(
        "image",
        "neither docker nor podman works here; its file is tried in a root",
    );
    let mut root = Root::empty(project, "container")?;
    root.system()?;
    root.copy(&shipped.join(dist::PROGRAM), "usr/bin/dlock")?;
    // An engine writes this file into each container.
    root.write("etc/hosts", "127.0.0.1 localhost\n")?;
    let output = root
        .command(&[USER])
        .args(["/usr/bin/dlock", "--url", &redis.url("localhost")])
        .args(["run", "image", "--", "dlock", "--version"])
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("in a root alone: {said}")))
}

//! The package in a Debian without anything of dlock, and what it brings.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::{root::Root, server::Redis};
use crate::{
    command::Tool,
    dist,
    failure::{Failure, Result},
    files::cannot,
    setup,
    step::skip,
};

/// The commands of the examples.
const COMMANDS: &[&str] = &["usr/local/bin/worker", "usr/local/bin/nightly-report"];

/// A command that shows that it ran.
const COMMAND: &str = "#!/bin/sh\necho \"ran under $DLOCK_NAME\"\n";

const EXAMPLES: &str = "usr/share/doc/dlock/examples";

pub(super) fn run(project: &Path, redis: &Redis) -> Result<()> {
    if !setup::set()?.join("usr/bin/dpkg").exists() {
        skip("Debian", "no Debian in target/servers: cargo xtask setup");
        return Ok(());
    }
    let root = Root::debian(project, "debian")?;
    root.write("etc/hosts", "127.0.0.1 localhost\n")?;
    root.copy(&package(&dist::folder(project))?, "dlock.deb")?;
    root.expect(&["dpkg", "--install", "/dlock.deb"], 0, "Setting up dlock")?;
    root.expect(
        &["dlock", "--url", &redis.url("localhost"), "inspect", "a"],
        1,
        "free",
    )?;
    for (path, command) in COMMANDS.iter().map(|path| (*path, COMMAND)) {
        root.write(path, command)?;
        root.expect(&["chmod", "+x", &format!("/{path}")], 0, "")?;
    }
    pages(&root)?;
    completions(&root)?;
    units(&root, redis)?;
    cron(&root, redis)?;
    root.expect(&["dpkg", "--purge", "dlock"], 0, "Removing dlock")?;
    if root.at("usr/bin/dlock").exists() || root.at("usr/share/doc/dlock").exists() {
        return Err(Failure::new("the removed package has left files"));
    }
    Ok(())
}

/// The one package in `folder`.
fn package(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let package = paths.find(|path| path.extension() == Some(OsStr::new("deb")));
    package.ok_or_else(|| Failure::new(format!("no package in {}", folder.display())))
}

/// Each page is rendered, and without a warning.
fn pages(root: &Root) -> Result<()> {
    if !Tool::new("man").args(["--version"]).succeeds() {
        skip("manual pages", "man is not installed");
        return Ok(());
    }
    let folder = root.at("usr/share/man/man1");
    let entries = fs::read_dir(&folder).map_err(|error| cannot("read", &folder, &error))?;
    let own = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("dlock"));
    let pages: Vec<_> = own.map(|entry| entry.path()).collect();
    let wanted = ["dlock.1.gz", "dlock-run.1.gz"].map(|name| folder.join(name));
    if !wanted.iter().all(|page| pages.contains(page)) {
        return Err(Failure::new(format!("a page is missing: {pages:?}")));
    }
    for page in pages {
        let output = Tool::new("man")
            .args(["--warnings", "--encoding=utf8", "--local-file"])
            .args([&page])
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let warnings = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || !text.contains("SYNOPSIS") || !warnings.is_empty() {
            let page = page.display();
            return Err(Failure::new(format!("{page} is not rendered: {warnings}")));
        }
    }
    Ok(())
}

/// Each shell completes the begin of a subcommand.
fn completions(root: &Root) -> Result<()> {
    let bash = "source /usr/share/bash-completion/completions/dlock; COMP_WORDS=(dlock ins); COMP_CWORD=1; \
                _dlock dlock ins dlock; echo \"${COMPREPLY[@]}\"";
    root.expect(&["bash", "-c", bash], 0, "inspect")?;
    let fish = root.at("usr/share/fish/vendor_completions.d/dlock.fish");
    let fish = format!(
        "source {}; complete --do-complete 'dlock ins'",
        fish.display()
    );
    let zsh = root.at("usr/share/zsh/vendor-completions");
    let zsh = format!(
        "fpath=({} $fpath); autoload -Uz compinit; compinit -D -u; [[ $_comps[dlock] == _dlock ]] && autoload +X _dlock && \
         echo inspect",
        zsh.display()
    );
    for (shell, options, line) in [("fish", "--no-config", fish), ("zsh", "--no-rcs", zsh)] {
        if !Tool::new(shell).args(["--version"]).succeeds() {
            skip(&format!("completions of {shell}"), "it is not installed");
            continue;
        }
        let shown = Tool::new(shell).args([options, "-c", &line]).read()?;
        if !String::from_utf8_lossy(&shown).contains("inspect") {
            return Err(Failure::new(format!("{shell} does not complete dlock")));
        }
    }
    Ok(())
}

/// Systemd takes the units, and the job of one runs.
fn units(root: &Root, redis: &Redis) -> Result<()> {
    let folder = root.at(EXAMPLES);
    let names = [
        "nightly-report.service",
        "nightly-report.timer",
        "worker.service",
    ];
    for name in names {
        root.copy(&folder.join(name), &format!("etc/systemd/system/{name}"))?;
    }
    if Tool::new("systemd-analyze").args(["--version"]).succeeds() {
        let output = Tool::new("systemd-analyze")
            .args([Path::new("--root"), &root.at("/")])
            .args(["--man=no", "verify"])
            .args(names)
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        // The units of that Debian may be too new for this systemd-analyze.
        let own = |line: &&str| names.iter().any(|name| line.contains(name));
        let said: Vec<_> = said.lines().filter(own).collect();
        if !said.is_empty() {
            let said = said.join("; ");
            return Err(Failure::new(format!("systemd-analyze verify: {said}")));
        }
    } else {
        skip("units", "systemd-analyze is not installed");
    }
    let unit = folder.join("nightly-report.service");
    let text = fs::read_to_string(&unit).map_err(|error| cannot("read", &unit, &error))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    job(root, redis, line.unwrap_or_default())
}

/// The last line of the example has five times, a user, and the job.
fn cron(root: &Root, redis: &Redis) -> Result<()> {
    let path = root.at(EXAMPLES).join("cron");
    let text = fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
    let last = text.lines().last().unwrap_or_default();
    job(root, redis, last.splitn(7, ' ').last().unwrap_or_default())
}

/// Runs the line of an example. Its lock is held for a moment instead of a minute.
fn job(root: &Root, redis: &Redis, line: &str) -> Result<()> {
    let url = redis.url("localhost");
    let line = line.replace("--at-least 1m", "--at-least 10ms");
    let line = format!("PATH=/usr/local/bin:/usr/bin:/bin; export DLOCK_URL='{url}'; {line}");
    root.expect(&["sh", "-c", &line], 0, "ran under nightly-report")
}

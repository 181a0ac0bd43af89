//! Packages of the machine's own distribution.

use std::path::Path;

use crate::{
    command::Tool,
    failure::{Failure, Result},
};

/// There where systemd runs the services.
const SYSTEMD: &str = "/run/systemd/system";

/// Installs `package`, which is missing, so that its `service` does not run.
///
/// # Errors
///
/// Without apt or root: what to install by hand. Else as [`Tool::run`].
pub(super) fn install(package: &str, service: Option<&str>) -> Result<()> {
    by_root(&format!("apt-get install {package}"))?;
    Tool::new("apt-get").args(["--quiet", "update"]).run()?;
    // Tests start servers of their own. Without systemd, services start by run level, and none
    // starts in the first.
    Tool::new("apt-get")
        .args(["--quiet", "--yes", "--no-install-recommends", "install"])
        .args([package])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("RUNLEVEL", "1")
        .run()?;
    match service {
        // It was not there before, so no other program uses it.
        Some(service) if Path::new(SYSTEMD).exists() => Tool::new("systemctl")
            .args(["disable", "--now", service])
            .run(),
        _ => Ok(()),
    }
}

/// Where the distribution's packages come from.
///
/// # Errors
///
/// When apt knows of none.
pub(super) fn mirror() -> Result<String> {
    let lines = Tool::new("apt-get")
        .args(["indextargets", "--format", "$(CODENAME) $(REPO_URI)"])
        .args(["Created-By: Packages"])
        .read()?;
    main_repository(&String::from_utf8_lossy(&lines))
        .map(str::to_owned)
        .ok_or_else(|| Failure::new("apt knows no repository; see /etc/apt/sources.list"))
}

/// Security updates and the like, `bookworm-security`, have repositories of their own.
fn main_repository(lines: &str) -> Option<&str> {
    lines
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(codename, _)| !codename.contains('-'))
        .map(|(_, repository)| repository)
}

/// Says what to do where `task` cannot be done from here.
///
/// # Errors
///
/// Without apt or root.
pub(super) fn by_root(task: &str) -> Result<()> {
    if !Tool::new("apt-get").args(["--version"]).succeeds() {
        return Err(Failure::new(format!(
            "there is no apt here; get it by other means; on Debian: {task}"
        )));
    }
    if Tool::new("id").args(["-u"]).read()?.trim_ascii() != b"0" {
        return Err(Failure::new(format!("run it as root: {task}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_of_security_updates_is_not_the_main_one() {
        let lines = "\
            bookworm-security http://a.test/security/\n\
            bookworm http://b.test/debian/\n\
            bookworm-updates http://c.test/debian/\n";
        assert_eq!(main_repository(lines), Some("http://b.test/debian/"));
        assert_eq!(main_repository(""), None);
    }
}

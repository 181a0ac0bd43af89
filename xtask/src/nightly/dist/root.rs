//! A root directory for `chroot`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    command::Tool,
    failure::{Failure, Result},
    files::{cannot, write},
    setup,
};

/// Removed with all that is mounted in it when this is dropped.
pub(super) struct Root {
    folder: PathBuf,
    path: PathBuf,
    mounted: Vec<PathBuf>,
}

impl Root {
    /// A root without any file.
    pub(super) fn empty(project: &Path, name: &str) -> Result<Self> {
        let folder = project.join("target/roots").join(name);
        let path = folder.join("root");
        let mut root = Self {
            folder,
            path,
            mounted: Vec::new(),
        };
        // An interrupted run may have left it.
        for place in ["root/dev/null", "root/proc", "root", ""] {
            let _ = Tool::new("umount")
                .args([root.folder.join(place)])
                .succeeds();
        }
        root.remove();
        fs::create_dir_all(&root.path).map_err(|error| cannot("create", &root.path, &error))?;
        root.mounted.clear();
        Ok(root)
    }

    /// A Debian with few packages. What is written to it is gone with it.
    pub(super) fn debian(project: &Path, name: &str) -> Result<Self> {
        let mut root = Self::empty(project, name)?;
        let memory = root.folder.clone();
        Tool::new("mount")
            .args(["-t", "tmpfs", "tmpfs"])
            .args([&memory])
            .run()?;
        root.mounted.push(memory);
        for place in ["root", "upper", "work"] {
            let place = root.folder.join(place);
            fs::create_dir(&place).map_err(|error| cannot("create", &place, &error))?;
        }
        let set = fs::canonicalize(setup::set()?);
        let set = set.map_err(|error| cannot("find", Path::new("target/servers"), &error))?;
        let at = |place: &str| root.folder.join(place).display().to_string();
        let layers = format!(
            "lowerdir={},upperdir={},workdir={}",
            set.display(),
            at("upper"),
            at("work")
        );
        Tool::new("mount")
            .args(["-t", "overlay", "overlay", "-o", &layers])
            .args([&root.path])
            .run()?;
        root.mounted.push(root.path.clone());
        root.system()?;
        Ok(root)
    }

    /// Mounts what every container has: `/proc` and `/dev/null`.
    pub(super) fn system(&mut self) -> Result<()> {
        let proc = self.path.join("proc");
        fs::create_dir_all(&proc).map_err(|error| cannot("create", &proc, &error))?;
        Tool::new("mount")
            .args(["-t", "proc", "proc"])
            .args([&proc])
            .run()?;
        self.mounted.push(proc);
        let null = self.path.join("dev/null");
        if !null.exists() {
            write(&null, "")?;
        }
        Tool::new("mount")
            .args(["--bind", "/dev/null"])
            .args([&null])
            .run()?;
        self.mounted.push(null);
        Ok(())
    }

    /// A path inside, as the outside has it.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    /// Writes a file inside.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<()> {
        write(&self.at(path), text)
    }

    /// Copies a file of the outside to `path`.
    pub(super) fn copy(&self, from: &Path, path: &str) -> Result<()> {
        let to = self.at(path);
        let folder = to.parent().unwrap_or(&to);
        fs::create_dir_all(folder)
            .and_then(|()| fs::copy(from, &to))
            .map_err(|error| cannot("copy", from, &error))
            .map(drop)
    }

    /// Runs `words` inside. They must end with `code`, and print `part`.
    pub(super) fn expect(&self, words: &[&str], code: i32, part: &str) -> Result<()> {
        let output = self.command(&[]).args(words).output()?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        if output.status.code() == Some(code) && said.contains(part) {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{}: wanted exit code {code} and {part:?}; {}: {said}",
            words.join(" "),
            output.status
        )))
    }

    /// `chroot` with `options`, before the words to run; without the variables that dlock could use.
    pub(super) fn command(&self, options: &[&str]) -> Tool {
        Tool::new("env")
            .args(["--unset=HOME", "--unset=DLOCK_URL", "--unset=DLOCK_CONFIG"])
            .args(["chroot"])
            .args(options)
            .args([&self.path])
    }

    fn remove(&mut self) {
        for place in self.mounted.drain(..).rev() {
            let _ = Tool::new("umount").args([place]).succeeds();
        }
        let _ = Tool::new("rm")
            .args(["--recursive", "--force", "--one-file-system"])
            .args([&self.folder])
            .succeeds();
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        self.remove();
    }
}

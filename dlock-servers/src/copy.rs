//! Copies of directories.

use std::{fs, io, path::Path};

/// Copies the files and the directories in `from` to `to`, which need not be there. Neither sockets and links, nor what
/// has a name of `without`.
///
/// # Errors
///
/// When something cannot be read or written. A part may be copied then.
///
/// # Blocking
///
/// It blocks the thread until all is copied.
pub fn copy_directory(from: &Path, to: &Path, without: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if without.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_directory(&entry.path(), &to, without)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_copied_but_what_is_left_out() {
        let directory = tempfile::tempdir().expect("directory");
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(from.join("inner")).expect("made");
        for name in ["a", "log", "inner/b", "inner/log"] {
            fs::write(from.join(name), name).expect("written");
        }
        copy_directory(&from, &to, &["log"]).expect("copied");
        let read = |name: &str| fs::read_to_string(to.join(name)).ok();
        assert_eq!(read("a").as_deref(), Some("a"));
        assert_eq!(read("inner/b").as_deref(), Some("inner/b"));
        assert_eq!((read("log"), read("inner/log")), (None, None));
    }
}

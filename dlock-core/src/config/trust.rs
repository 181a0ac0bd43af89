//! Whether a configuration file that no user has named may be used.
//!
//! A program may be started in a directory where others can write. Their `dlock.toml` would move its locks to another
//! store.

use std::fs::Metadata;

use super::{source::FILE_VARIABLE, url::BackendUrl};
use crate::base::system;

/// The user id of root, who may write any file.
const ROOT: u32 = 0;

/// The permissions of group and others to write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o777;

/// Refuses a file whose owner is neither this user nor root.
pub(super) fn check_owner(metadata: &Metadata) -> Result<(), String> {
    system::owner_and_user(metadata).map_or(Ok(()), |(file, own)| owner(file, own))
}

/// Refuses a file with a password that its group or others may write.
pub(super) fn check_writers(metadata: &Metadata, url: &BackendUrl) -> Result<(), String> {
    match system::mode(metadata).filter(|_| url.has_secret()) {
        Some(mode) => writers(mode),
        None => Ok(()),
    }
}

fn owner(owner: u32, own: u32) -> Result<(), String> {
    if owner == own || owner == ROOT {
        return Ok(());
    }
    let allowed = match own {
        ROOT => "allowed is root".to_owned(),
        own => format!("allowed are {own} and root"),
    };
    Err(format!(
        "its owner is the user {owner}, {allowed}; to use it, name it in {FILE_VARIABLE}"
    ))
}

fn writers(mode: u32) -> Result<(), String> {
    if mode & WRITABLE_BY_OTHERS == 0 {
        return Ok(());
    }
    Err(format!(
        "it has a password and the mode {:03o}, which lets others write it; allowed is at most 644",
        mode & PERMISSIONS
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_and_root_may_own_it() {
        assert_eq!(owner(1000, 1000), Ok(()));
        assert_eq!(owner(0, 1000), Ok(()));
        assert_eq!(
            owner(1001, 1000).expect_err("another user"),
            "its owner is the user 1001, allowed are 1000 and root; to use it, name it in DLOCK_CONFIG"
        );
        let refused = owner(1000, 0).expect_err("root does not trust users");
        assert!(refused.contains("1000, allowed is root;"), "{refused}");
    }

    #[test]
    fn others_may_read_it_but_not_write_it() {
        for mode in [0o100_600, 0o100_644, 0o100_400] {
            assert_eq!(writers(mode), Ok(()));
        }
        for mode in [0o100_660, 0o100_606, 0o100_666, 0o100_620] {
            assert!(writers(mode).is_err(), "{mode:o}");
        }
        assert_eq!(
            writers(0o100_664).expect_err("its group"),
            "it has a password and the mode 664, which lets others write it; allowed is at most 644"
        );
    }
}

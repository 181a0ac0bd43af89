//! The file systems that cannot carry locks: those that other machines share.
//!
//! Two machines that mount one would each take the lock, or each get a different idea of it. `flock` is local to
//! each machine, or depends on the mount's options, and inotify reports local changes only. So they are refused,
//! rather than silently fail to exclude.

use std::{
    fs::File,
    io,
    os::fd::{AsFd as _, BorrowedFd},
    path::Path,
};

use rustix::io::Result;

/// The name of the file system that `directory` is on, if other machines can share it: [`FileLock`](crate::FileLock)
/// refuses such a directory. Always `None` on systems other than Linux.
///
/// # Errors
///
/// When the directory cannot be opened.
///
/// # Blocking
///
/// As long as the file system takes to answer.
pub fn shared_file_system(directory: &Path) -> io::Result<Option<&'static str>> {
    Ok(shared_kind(File::open(directory)?.as_fd())?)
}

/// The name of the network file system that the directory is on, if it is on one.
#[cfg(target_os = "linux")]
pub(crate) fn shared_kind(directory: BorrowedFd<'_>) -> Result<Option<&'static str>> {
    Ok(kind_of_magic(low_word(
        rustix::fs::fstatfs(directory)?.f_type,
    )))
}

/// Other systems have no portable query; see the README.
#[cfg(not(target_os = "linux"))]
pub(crate) fn shared_kind(_directory: BorrowedFd<'_>) -> Result<Option<&'static str>> {
    Ok(None)
}

/// The magic numbers of statfs(2), `linux/magic.h` and the file systems' own sources. FUSE is here because
/// sshfs, virtiofs and the mounts of object stores cannot be distinguished from local ones.
const SHARED: &[(u32, &str)] = &[
    (0x0000_6969, "NFS"),
    (0x0000_517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0000_564c, "NCP"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x1983_0326, "BeeGFS"),
    (0xaad7_aaea, "PanFS"),
    (0x786f_4256, "VirtualBox shared folder"),
];

#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "called on Linux only")
)]
fn kind_of_magic(magic: u32) -> Option<&'static str> {
    SHARED
        .iter()
        .find(|(known, _)| *known == magic)
        .map(|(_, name)| *name)
}

/// The type of `f_type` differs by machine, and is signed on some; magic numbers have 32 bits.
#[cfg(target_os = "linux")]
fn low_word(magic: impl Into<i64>) -> u32 {
    const LOW_WORD: i64 = 0xffff_ffff;
    u32::try_from(magic.into() & LOW_WORD).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_and_local_ones_are_not() {
        for (magic, kind) in [(0x6969, Some("NFS")), (0xfe53_4d42, Some("SMB2"))] {
            assert_eq!(kind_of_magic(magic), kind);
        }
        let local = [
            ("ext4", 0xef53),
            ("tmpfs", 0x0102_1994),
            ("xfs", 0x5846_5342),
        ];
        let more = [
            ("btrfs", 0x9123_683e),
            ("overlay", 0x794c_7630),
            ("zfs", 0x2fc1_2fc1),
        ];
        for (name, magic) in local.into_iter().chain(more) {
            assert_eq!(kind_of_magic(magic), None, "{name}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_magic_is_found_with_either_sign() {
        assert_eq!(low_word(0xff53_4d42_i64), 0xff53_4d42);
        assert_eq!(low_word(-0x00ac_b2be_i32), 0xff53_4d42);
    }
}

//! Everything in core that depends on the operating system: the clock since boot, the name of the machine, the owner and
//! the permissions of a file. `cargo xtask tidy` allows it nowhere else.

/// Nanoseconds since a moment that is fixed for this boot, on a clock that no administrator sets.
///
/// On Linux that clock counts the time for which the machine is suspended, which std's does not.
#[cfg(unix)]
pub(super) fn boot_nanos() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const ID: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const ID: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(ID);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// Nanoseconds since the first call, on std's clock.
#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(super) fn boot_nanos() -> u64 {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let first = FIRST.get_or_init(std::time::Instant::now);
    u64::try_from(first.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The name of this machine.
#[cfg(unix)]
pub(crate) fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// The name of this machine, as Windows has it in the environment.
#[cfg(not(unix))]
pub(crate) fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "?".to_owned())
}

/// The permissions of a file, as in `chmod`, where the system has them.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn mode(file: &std::fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::mode(file))
}

/// The permissions of a file, which this system does not have.
#[cfg(not(unix))]
pub(crate) fn mode(_: &std::fs::Metadata) -> Option<u32> {
    None
}

/// The user who owns the file, and the one as whom this process runs, where the system has their numbers.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn owner_and_user(file: &std::fs::Metadata) -> Option<(u32, u32)> {
    let owner = std::os::unix::fs::MetadataExt::uid(file);
    Some((owner, rustix::process::geteuid().as_raw()))
}

/// The owner of a file and the user of this process, which have no numbers on this system.
#[cfg(not(unix))]
pub(crate) fn owner_and_user(_: &std::fs::Metadata) -> Option<(u32, u32)> {
    None
}

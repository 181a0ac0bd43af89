//! Everything in core that depends on the operating system: the clock since boot, and the name of the machine.
//! `cargo xtask tidy` allows it nowhere else.

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

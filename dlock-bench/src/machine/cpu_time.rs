//! The processor time of processes, to the nanosecond. Unlike the times of threads it has those of threads that have
//! ended.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time of all threads of this process.
pub(crate) fn own_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The processor time of all threads of the process `pid`; `None` when it is gone, or the system does not say. Source:
/// `clock_getcpuclockid`. On other systems than Linux it is `None`.
///
/// ```
/// let time = dlock_bench::machine::cpu_time_of(std::process::id());
/// assert_eq!(time.is_some(), cfg!(target_os = "linux"));
/// ```
#[cfg(target_os = "linux")]
#[must_use]
pub fn cpu_time_of(pid: u32) -> Option<Duration> {
    use nix::{time, unistd::Pid};

    let pid = Pid::from_raw(i32::try_from(pid).ok()?);
    let clock = time::clock_getcpuclockid(pid).ok()?;
    Some(time::clock_gettime(clock).ok()?.into())
}

/// `None`: the system does not say.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn cpu_time_of(_: u32) -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_has_the_time_of_its_own_clock() {
        let before = own_cpu_time();
        let time = cpu_time_of(std::process::id()).expect("this process");
        assert!(before <= time && time <= own_cpu_time());
        assert!(!time.subsec_nanos().is_multiple_of(1_000_000));
        assert_eq!(cpu_time_of(u32::MAX), None);
    }
}

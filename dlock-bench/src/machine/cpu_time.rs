//! The processor time of this process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time of all threads of this process, to the nanosecond.
pub(crate) fn own_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

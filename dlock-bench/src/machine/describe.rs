//! The description of the machine, and the date.

use std::{fs, thread, time::Duration};

use rustix::time::{ClockId, clock_gettime};

use crate::data::Machine;

/// Reads it from the system; a part that is not there is `None`.
#[must_use]
pub fn describe() -> Machine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let uname = rustix::system::uname();
    let kernel = [uname.sysname(), uname.release()].map(|part| part.to_string_lossy().into_owned());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Machine {
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        processor: value(&read("/proc/cpuinfo"), "model name").map(str::to_owned),
        memory_bytes: value(&read("/proc/meminfo"), "MemTotal").and_then(kibibytes),
        kernel: Some(kernel.join(" ")),
    }
}

/// The value in a line `key : value`.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(found, _)| found.trim() == key)?;
    Some(value.trim())
}

fn kibibytes(text: &str) -> Option<u64> {
    let number: u64 = text.strip_suffix(" kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// The date and time, as RFC 3339 in UTC.
#[must_use]
pub fn now_utc() -> String {
    let now = clock_gettime(ClockId::Realtime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let since_epoch = Duration::from_secs(seconds);
    humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + since_epoch).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_known_files() {
        let cpu = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(value(cpu, "model name"), Some("Some CPU @ 2 GHz"));
        let memory = "MemTotal:       24577324 kB\nMemFree: 1 kB\n";
        let bytes = value(memory, "MemTotal").and_then(kibibytes);
        assert_eq!(bytes, Some(24_577_324 * 1024));
        assert_eq!(value(memory, "Swap"), None);
    }

    #[test]
    fn the_date_is_one() {
        let now = now_utc();
        assert!(
            now.starts_with("20") && now.ends_with('Z') && now.len() == 20,
            "{now}"
        );
    }
}

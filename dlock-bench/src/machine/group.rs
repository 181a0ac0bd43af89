//! The group in which the kernel schedules a process.

use std::fs;

/// Where the kernel says whether each session is a group.
const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// A name of the group of a process that is equal for processes of one group. Between groups the kernel shares the
/// cores by the weights of the groups.
pub(crate) fn scheduling_group(pid: u32) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let group = of_processor(&groups).unwrap_or("/");
    let is_auto = fs::read_to_string(AUTOGROUP).is_ok_and(|text| text.trim() == "1");
    if group != "/" || !is_auto {
        return Some(group.to_owned());
    }
    let session = fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()?;
    Some(of_session(&session).unwrap_or(group).to_owned())
}

/// The group of a session: `/autogroup-29 nice 0`. It is empty for a process that no session was made for: that one is
/// in the root's group.
fn of_session(autogroup: &str) -> Option<&str> {
    autogroup.split_whitespace().next()
}

/// The group of the controller `cpu`; without one of its own that of the unified hierarchy.
fn of_processor(groups: &str) -> Option<&str> {
    let lines = groups
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let mut unified = None;
    for (controllers, group) in lines {
        if controllers.split(',').any(|controller| controller == "cpu") {
            return Some(group);
        }
        if controllers.is_empty() {
            unified = Some(group);
        }
    }
    unified
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_processor_is_found() {
        let first = "9:name=systemd:/a\n3:cpuset:/b\n1:cpu,cpuacct:/c:d\n0::/e\n";
        assert_eq!(of_processor(first), Some("/c:d"));
        assert_eq!(of_processor("0::/user.slice\n"), Some("/user.slice"));
        assert_eq!(of_processor("3:cpuset:/b\n"), None);
    }

    #[test]
    fn a_session_may_have_no_group() {
        assert_eq!(of_session("/autogroup-29 nice 0\n"), Some("/autogroup-29"));
        assert_eq!(of_session(""), None);
    }

    #[test]
    fn this_process_is_in_one_group() {
        let own = scheduling_group(std::process::id());
        assert!(own.is_some() && own == scheduling_group(std::process::id()));
        assert_eq!(scheduling_group(u32::MAX), None);
    }
}

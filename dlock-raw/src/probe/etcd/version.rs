//! The versions of etcd with known defects.

use super::checks;
use crate::probe::{finding::Severity, report::Report};

type Version = (u64, u64, u64);

/// The first sound version of each line: dlock-etcd has the same list.
const SOUND_FROM: [Version; 3] = [(3, 4, 38), (3, 5, 23), (3, 6, 5)];

/// The versions that lose writes at a crash.
const BROKEN: std::ops::RangeInclusive<Version> = (3, 5, 0)..=(3, 5, 2);

/// Judges the version of a member.
pub(super) fn judge(label: &str, version: &str, report: &mut Report) {
    let number = parse(version);
    let broken = number.filter(|number| BROKEN.contains(number)).map(|_| {
        let found = format!("{label}{version}");
        checks::BROKEN_VERSION.finds(Severity::Danger, found, "3.5.23 or later")
    });
    let is_broken = broken.is_some();
    report.note(&checks::BROKEN_VERSION, broken);
    let sound = number.and_then(sound);
    let old = sound.filter(|_| !is_broken).map(|(major, minor, patch)| {
        let found = format!("{label}{version}");
        let wanted = format!("{major}.{minor}.{patch} or later");
        checks::OLD_VERSION.finds(Severity::Warning, found, wanted)
    });
    report.note(&checks::OLD_VERSION, old);
}

/// The version without the known defects, if `found` has them.
fn sound(found: Version) -> Option<Version> {
    let mut lines = SOUND_FROM.into_iter();
    let line = lines.find(|sound| (sound.0, sound.1) >= (found.0, found.1))?;
    (found < line).then_some(line)
}

/// The numbers of a version, for finding the oldest.
pub(super) fn parse(version: &str) -> Option<Version> {
    let mut numbers = version
        .split(['.', '-', '+'])
        .map_while(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_severity() {
        for (version, found) in [
            ("3.4.23", Some("etcd.old-version")),
            ("3.4.38", None),
            ("3.5.1", Some("etcd.broken-version")),
            ("3.5.3", Some("etcd.old-version")),
            ("3.5.30", None),
            ("3.6.0-rc.1", Some("etcd.old-version")),
            ("3.6.5", None),
            ("newest", None),
        ] {
            let mut report = Report::default();
            judge("", version, &mut report);
            let ids: Vec<_> = report.findings.iter().map(|finding| finding.id).collect();
            assert_eq!(ids, Vec::from_iter(found), "{version}");
            assert_eq!(report.checked.len(), 2);
        }
    }
}

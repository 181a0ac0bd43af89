//! The lines of a test program about its tests.

/// The tests that have ended, the first that failed, and what was printed about failures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    /// How many tests have passed or failed.
    pub(super) ended: usize,
    pub(super) failed: Option<String>,
    /// The reports of failures, which follow after all tests.
    pub(super) reports: Vec<String>,
    is_in_reports: bool,
}

impl Output {
    /// Takes the next line; libtest and libtest-mimic print `test NAME ... ok`, and `failures:` around the reports.
    pub(super) fn read(&mut self, line: &str) {
        if line == "failures:" {
            self.is_in_reports = self.reports.is_empty();
        } else if self.is_in_reports && !line.trim().is_empty() {
            self.reports.push(line.to_owned());
        }
        let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        else {
            return;
        };
        match result.split_whitespace().next() {
            Some("ok") => self.ended += 1,
            Some("FAILED") => {
                self.ended += 1;
                let name = name.strip_suffix(" - should panic").unwrap_or(name);
                self.failed.get_or_insert_with(|| name.trim().to_owned());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_tests_are_counted_and_the_first_failure_is_kept_with_the_reports() {
        let mut output = Output::default();
        let lines = "running 4 tests\ntest a ... ok\ntest b::c ... FAILED\n\
                     test d ... ignored\ntest e ... FAILED\n\nfailures:\n\n---- b::c stdout ----\n\nwhy\n\n\
                     failures:\n    b::c\n\ntest result: FAILED. 1 passed";
        lines.lines().for_each(|line| output.read(line));
        assert_eq!(output.ended, 3);
        assert_eq!(output.failed.as_deref(), Some("b::c"));
        assert_eq!(output.reports, ["---- b::c stdout ----", "why"]);
    }
}

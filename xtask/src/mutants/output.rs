//! The lines of a test program about its tests.

/// The tests that have ended, and the first that failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    /// How many tests have passed or failed.
    pub(super) ended: usize,
    pub(super) failed: Option<String>,
}

impl Output {
    /// Takes the next line; libtest and libtest-mimic print `test NAME ... ok`.
    pub(super) fn read(&mut self, line: &str) {
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
    fn ended_tests_are_counted_and_the_first_failure_is_kept() {
        let mut output = Output::default();
        let lines = "running 4 tests\ntest a ... ok\ntest b::c ... FAILED\n\
                     test d ... ignored\ntest e ... FAILED\ntest result: FAILED. 1 passed";
        lines.lines().for_each(|line| output.read(line));
        let expected = Output {
            ended: 3,
            failed: Some("b::c".to_owned()),
        };
        assert_eq!(output, expected);
    }
}

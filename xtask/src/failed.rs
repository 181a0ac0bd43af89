//! Which tests failed and what they said, kept until the end of a run of many test programs.

/// Lines kept of what one test program says of its failures. A panic's message comes first.
const MAX_LINES: usize = 60;

/// The text that test programs printed under `failures:`.
#[derive(Debug, Default)]
pub(crate) struct Failed {
    kept: Vec<String>,
    reading: Reading,
}

/// Where in the output of a test program we are.
#[derive(Debug, Default)]
enum Reading {
    #[default]
    Verdicts,
    /// So many lines of what its failures say.
    Words(usize),
    Names,
}

impl Failed {
    /// Takes the next line of the output of `cargo test`.
    ///
    /// libtest and libtest-mimic say `failures:`, the words of each test that failed, `failures:`
    /// once more, and their names.
    pub(crate) fn read(&mut self, line: &str) {
        match self.reading {
            Reading::Verdicts if line == "failures:" => self.reading = Reading::Words(0),
            Reading::Words(_) if line == "failures:" => self.reading = Reading::Names,
            Reading::Names if line.starts_with("test result:") => {
                self.kept.push(line.to_owned());
                self.reading = Reading::Verdicts;
            }
            Reading::Words(lines) if lines < MAX_LINES && !line.is_empty() => {
                self.kept.push(line.to_owned());
                self.reading = Reading::Words(lines + 1);
            }
            Reading::Names if !line.is_empty() => self.kept.push(line.to_owned()),
            Reading::Verdicts | Reading::Words(_) | Reading::Names => {}
        }
    }

    /// The reports, in the order of the programs.
    pub(crate) fn reports(&self) -> &[String] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(output: &str) -> Vec<String> {
        let mut failed = Failed::default();
        output.lines().for_each(|line| failed.read(line));
        failed.reports().to_vec()
    }

    #[test]
    fn what_failed_is_kept_and_nothing_else() {
        let output = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\
                      thread 'b' panicked: no\n\nfailures:\n    b\n\n\
                      test result: FAILED. 1 passed; 1 failed\ntest c ... ok\n";
        assert_eq!(
            reports(output),
            [
                "---- b stdout ----",
                "thread 'b' panicked: no",
                "    b",
                "test result: FAILED. 1 passed; 1 failed",
            ]
        );
        assert!(reports("test result: ok. 2 passed; 0 failed\n").is_empty());
    }

    #[test]
    fn a_long_report_is_cut_but_its_names_are_kept() {
        let long = "    words\n".repeat(MAX_LINES * 2);
        let output =
            format!("failures:\n---- b ----\n{long}failures:\n    b\ntest result: FAILED\n");
        let reports = reports(&output);
        assert_eq!(reports.len(), MAX_LINES + 2);
        assert!(reports.contains(&"    b".to_owned()));
    }
}

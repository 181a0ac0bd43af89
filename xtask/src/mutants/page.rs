//! The table of results in `docs/mutants.md`.

use std::{fs, path::Path};

use super::{
    column::Column,
    definition::Mutant,
    results::{Outcome, Results},
};
use crate::failure::{Failure, Result};

/// The page with the table.
pub(super) const PAGE: &str = "docs/mutants.md";

/// The lines around the table.
const BEGIN: &str = "<!-- The table of `cargo xtask mutants --write`. -->";
const END: &str = "<!-- The end of the table. -->";

const SECONDS_PER_MINUTE: u64 = 60;

/// The table of all mutants, as Markdown.
pub(super) fn table(mutants: &[Mutant], results: &Results) -> String {
    let head = "| mutant | clause | suite | simulation | chaos |\n|---|---|---|---|---|\n";
    let rows = mutants.iter().map(|mutant| row(mutant, results));
    head.to_owned() + &rows.collect::<String>()
}

/// The line under the table: how many are dead, alive and not run, and how long that took.
pub(super) fn sum(mutants: &[Mutant], results: &Results) -> String {
    let count = |is: &dyn Fn(&Mutant) -> bool| mutants.iter().filter(|mutant| is(mutant)).count();
    let dead = count(&|mutant| results.is_dead(mutant));
    let alive = count(&|mutant| results.is_alive(mutant));
    let minutes = results.seconds().div_ceil(SECONDS_PER_MINUTE);
    format!(
        "\nOf {} mutants {dead} are dead, {alive} are alive, and {} were not run. The tests took {minutes} min, without \
         the time to build.\n",
        mutants.len(),
        mutants.len() - dead - alive
    )
}

fn row(mutant: &Mutant, results: &Results) -> String {
    let cells = Column::ALL.map(|column| cell(results.get(mutant, column)));
    format!(
        "| `{}` | {} | {} |\n",
        mutant.name,
        mutant.clause,
        cells.join(" | ")
    )
}

fn cell(outcome: Option<&Outcome>) -> String {
    match outcome {
        Some(Outcome::Killed { by, tests, .. }) => {
            let name = by.rsplit("::").next().unwrap_or(by);
            format!("{tests}: `{name}`")
        }
        Some(Outcome::Alive { tests, .. }) => format!("alive after {tests}"),
        Some(Outcome::Unreached) => "–".to_owned(),
        None => "not run".to_owned(),
    }
}

/// Puts `table` into the page.
///
/// # Errors
///
/// When the page has no place for it, or cannot be written.
pub(super) fn write(root: &Path, table: &str) -> Result<()> {
    let path = root.join(PAGE);
    let failed = |why: String| Failure::new(format!("cannot write {PAGE}: {why}"));
    let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    let text = with_table(&text, table)
        .ok_or_else(|| failed(format!("it has no lines {BEGIN} and {END}")))?;
    fs::write(&path, text).map_err(|error| failed(error.to_string()))
}

fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_replaced_and_the_page_stays() {
        let page = format!("# Mutants\n{BEGIN}\nold\n{END}\nmore\n");
        let written = with_table(&page, "| new |\n").unwrap();
        assert_eq!(
            written,
            format!("# Mutants\n{BEGIN}\n\n| new |\n\n{END}\nmore\n")
        );
        assert_eq!(with_table(&written, "| new |\n").unwrap(), written);
        assert_eq!(with_table("# Mutants\n", ""), None);
    }

    #[test]
    fn a_cell_has_the_number_of_tests_and_the_one_that_failed() {
        let killed = Outcome::Killed {
            by: "redis::lost_endings::k04_x".to_owned(),
            tests: 3,
            seconds: 9,
        };
        assert_eq!(cell(Some(&killed)), "3: `k04_x`");
        assert_eq!(cell(Some(&Outcome::Unreached)), "–");
        assert_eq!(cell(None), "not run");
    }
}

//! The declared exceptions are those of the contract, of the READMEs and of the stores here.

use std::{collections::BTreeSet, fs, path::Path};

use dlock_verify::chaos::Exception;

use crate::stores;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).expect("a page")
}

#[test]
fn each_row_is_an_exception_of_the_contract_and_of_a_readme() {
    let contract = read("docs/contract.md");
    let all = Exception::all().expect("the table");
    let stores: BTreeSet<_> = stores::all().iter().map(|store| store.name()).collect();
    for row in all {
        let id = format!("| `{}` |", row.id);
        let line = contract.lines().find(|line| line.starts_with(&id));
        let line = line.unwrap_or_else(|| panic!("{} is not in the contract", row.id));
        assert!(line.contains(&row.clause), "{}: {}", row.id, row.clause);
        assert!(
            stores.contains(row.store.as_str()),
            "no store {}",
            row.store
        );
        let (page, heading) = row.anchor.split_once('#').expect("a page and a heading");
        let headings = read(page)
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(anchor)
            .collect::<Vec<_>>();
        assert!(
            headings.iter().any(|found| found == heading),
            "{heading} in {headings:?}"
        );
    }
}

fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .replace(' ', "-")
}

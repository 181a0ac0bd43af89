//! The number of declared exceptions of each store, in the page for choosing one, is that of the contract.

use super::{finding::Finding, tree::TextFile};

const CONTRACT: &str = "docs/contract.md";
const PAGE: &str = "docs/choosing.md";

/// The first cell of the row with the numbers.
const ROW: &str = "declared exceptions";

/// The columns of that row, and how the ids of the contract begin.
const STORES: [(&str, &str); 5] = [
    ("file", "file."),
    ("Redis", "redis."),
    ("etcd", "etcd."),
    ("ZooKeeper", "zk."),
    ("MySQL", "mysql."),
];

/// The numbers that differ.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let text = |path| {
        let file = files.iter().find(|file| file.path == path);
        file.map_or("", |file| file.text.as_str())
    };
    let (contract, page) = (text(CONTRACT), text(PAGE));
    let Some((line, row)) = row(page) else {
        return vec![Finding::of_file(
            PAGE,
            format!("no table has a row `{ROW}`"),
        )];
    };
    let wrong = STORES.iter().filter_map(|(store, begin)| {
        let is = row.iter().find(|(column, _)| column == store);
        let is = is.map_or("", |(_, number)| number);
        let wanted = count(contract, begin);
        let message = format!("{ROW} of {store}: `{is}`, and {wanted} in {CONTRACT}");
        (is != wanted.to_string()).then(|| Finding::of_line(PAGE, line, message))
    });
    wrong.collect()
}

/// The exceptions of the contract whose ids begin so.
fn count(contract: &str, begin: &str) -> usize {
    let begin = format!("| `{begin}");
    let rows = contract.lines().filter(|line| line.starts_with(&begin));
    rows.count()
}

/// The number of the row's line, and its cells with the titles of their columns.
fn row(page: &str) -> Option<(usize, Vec<(&str, &str)>)> {
    let lines: Vec<_> = page.lines().collect();
    let is_row = |line: &&str| cells(line).next() == Some(ROW);
    let at = lines.iter().position(is_row)?;
    let table = lines[..at]
        .iter()
        .rev()
        .take_while(|line| line.starts_with('|'));
    let head = table.last()?;
    Some((at + 1, cells(head).zip(cells(lines[at])).collect()))
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.trim_matches('|').split('|').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| id | what |\n|---|---|\n| `file.a` | x |\n| `redis.a` | x |\n| `redis.b` | x |\n\
                         | `etcd.a` | x |\n| `zk.a` | x |\n| `mysql.a` | x |\n";

    fn found(page: &str) -> Vec<String> {
        let file = |path: &str, text: &str| TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let findings = check(&[file(CONTRACT, TABLE), file(PAGE, page)]);
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_number_that_is_not_of_the_contract_is_found_in_any_order_of_columns() {
        let page = "# Page\n\n| a | file |\n|---|---|\n| b | 7 |\n\n| | Redis | file | etcd | ZooKeeper | MySQL |\n\
                    |---|---|---|---|---|---|\n| order | none | 9 | | | |\n| declared exceptions | 2 | 1 | 1 | 1 | 1 |\n";
        assert_eq!(found(page), [""; 0]);
        let wrong = page.replace("| 2 | 1 | 1 |", "| 1 | 1 | 3 |");
        assert_eq!(
            found(&wrong),
            [
                "docs/choosing.md:10: declared exceptions of Redis: `1`, and 2 in docs/contract.md",
                "docs/choosing.md:10: declared exceptions of etcd: `3`, and 1 in docs/contract.md",
            ]
        );
    }

    #[test]
    fn a_row_or_column_that_is_missing_is_found() {
        assert_eq!(
            found("# Page\n"),
            ["docs/choosing.md: no table has a row `declared exceptions`"]
        );
        let page = "| | file |\n|---|---|\n| declared exceptions | 1 |\n";
        assert_eq!(found(page).len(), 4);
    }
}

//! A table whose columns have titles of their own and in groups.

/// A table: the names of the rows, and groups of columns.
pub(crate) struct Table {
    pub(super) rows: Vec<String>,
    pub(super) groups: Vec<Group>,
}

/// Columns with a title above theirs.
pub(super) struct Group {
    title: &'static str,
    columns: Vec<Column>,
}

struct Column {
    title: String,
    cells: Vec<String>,
}

/// The space between two groups.
const GAP: usize = 3;

impl Group {
    pub(super) fn new(title: &'static str) -> Self {
        Self {
            title,
            columns: Vec::new(),
        }
    }

    /// Adds a column; one without a value in any row is left out.
    #[must_use]
    pub(super) fn column(mut self, title: impl Into<String>, cells: Vec<Option<String>>) -> Self {
        if cells.iter().any(Option::is_some) {
            self.columns.push(Column {
                title: title.into(),
                cells: cells.into_iter().map(Option::unwrap_or_default).collect(),
            });
        }
        self
    }

    fn width(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::width).sum();
        let gaps = 2 * self.columns.len().saturating_sub(1);
        (columns + gaps).max(length(self.title))
    }
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| length(cell));
        cells.max().unwrap_or_default().max(length(&self.title))
    }
}

impl Table {
    /// Columns without titles, as lines. All but the last are as wide as their longest cell.
    pub(crate) fn aligned<const N: usize>(columns: [Vec<String>; N]) -> Vec<String> {
        let rows = columns.first().map_or(0, Vec::len);
        let mut lines = vec![String::new(); rows];
        for cells in columns {
            let width = cells.iter().map(|cell| length(cell)).max();
            for (line, cell) in lines.iter_mut().zip(&cells) {
                line.push_str(&pad_right(cell, width.unwrap_or_default() + 2));
            }
        }
        lines
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    /// The lines: two of titles, then one for each row. Empty without a column. Groups that do not fit into `width` follow
    /// as further tables of the same rows.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let first = self.rows.iter().map(|row| length(row)).max();
        let first = first.unwrap_or_default();
        let mut tables: Vec<(usize, Vec<&Group>)> = Vec::new();
        for group in self.groups.iter().filter(|one| !one.columns.is_empty()) {
            let added = GAP + group.width();
            match tables.last_mut() {
                Some((used, groups)) if *used + added <= width => {
                    *used += added;
                    groups.push(group);
                }
                _ => tables.push((first + added, vec![group])),
            }
        }
        let tables = tables.into_iter();
        tables
            .flat_map(|(_, groups)| self.table(first, &groups))
            .collect()
    }

    /// One table of these groups; the names of the rows take `first` columns.
    fn table(&self, first: usize, groups: &[&Group]) -> Vec<String> {
        let mut lines = vec![" ".repeat(first); 2];
        lines.extend(self.rows.iter().map(|row| pad_right(row, first)));
        for group in groups {
            let width = group.width();
            let centred = (width - length(group.title)) / 2;
            lines[0].push_str(&" ".repeat(GAP));
            lines[0].push_str(&pad_right(
                &format!("{}{}", " ".repeat(centred), group.title),
                width,
            ));
            let titles = group.columns.iter().map(|column| &column.title);
            push(&mut lines[1], group, titles);
            for row in 0..self.rows.len() {
                let cells = group.columns.iter().map(|column| &column.cells[row]);
                push(&mut lines[row + 2], group, cells);
            }
        }
        lines
            .into_iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

/// Appends the cells of a group to a line, each to the right of its column.
fn push<'a>(line: &mut String, group: &Group, cells: impl Iterator<Item = &'a String>) {
    let mut text = String::new();
    for (column, cell) in group.columns.iter().zip(cells) {
        if !text.is_empty() {
            text.push_str("  ");
        }
        text.push_str(&pad_left(cell, column.width()));
    }
    line.push_str(&" ".repeat(GAP));
    line.push_str(&pad_left(&text, group.width()));
}

/// Letters, of which `µ` and `±` are one each.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn pad_left(text: &str, width: usize) -> String {
    let space = width.saturating_sub(length(text));
    format!("{}{text}", " ".repeat(space))
}

fn pad_right(text: &str, width: usize) -> String {
    let space = width.saturating_sub(length(text));
    format!("{text}{}", " ".repeat(space))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(texts: [&str; 2]) -> Vec<Option<String>> {
        texts.map(|text| Some(text.to_owned())).to_vec()
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let table = Table {
            rows: vec!["redis".to_owned(), "zk".to_owned()],
            groups: vec![
                Group::new("one lock")
                    .column("p50", cells(["120 µs", "1.31 ms"]))
                    .column("p99", cells(["439 µs", "7.0 ms"])),
                Group::new("nothing").column("x", vec![None, None]),
                Group::new("server CPU").column("", vec![Some("4.1 ×".to_owned()), None]),
            ],
        };
        let expected = [
            "           one lock       server CPU",
            "            p50     p99",
            "redis    120 µs  439 µs        4.1 ×",
            "zk      1.31 ms  7.0 ms",
        ];
        assert_eq!(table.lines(usize::MAX), expected);
        assert_eq!(table.lines(36), expected);
        let broken = [
            "           one lock",
            "            p50     p99",
            "redis    120 µs  439 µs",
            "zk      1.31 ms  7.0 ms",
            "        server CPU",
            "",
            "redis        4.1 ×",
            "zk",
        ];
        assert_eq!(table.lines(35), broken);
    }
}

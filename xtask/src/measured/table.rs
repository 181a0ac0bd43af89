//! Tables as Markdown.

/// A table with one row a store.
pub(super) struct Table {
    text: String,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        let rule = "|---".repeat(head.len());
        Self {
            text: format!("| {} |\n{rule}|\n", head.join(" | ")),
        }
    }

    pub(super) fn row(&mut self, cells: &[String]) {
        self.text += &format!("| {} |\n", cells.join(" | "));
    }

    pub(super) fn text(self) -> String {
        self.text
    }

    pub(super) fn with_words(self, words: &str) -> String {
        format!("{}\n{words}\n", self.text)
    }
}

/// A number with commas: `1,234,567`.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The cell of something that was not measured.
pub(super) const NONE: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        let texts = [0, 999, 1_000, 1_234_567].map(number);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_table_has_a_head_rows_and_words() {
        let mut table = Table::new(&["store", "grants"]);
        table.row(&["etcd".to_owned(), number(1_000)]);
        assert_eq!(
            table.with_words("All of them."),
            "| store | grants |\n|---|---|\n| etcd | 1,000 |\n\nAll of them.\n"
        );
    }
}

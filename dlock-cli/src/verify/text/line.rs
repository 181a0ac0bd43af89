//! A line whose text is wrapped to the width that there is.

use super::wrap::wrap;

/// The column of a finding's text, and of further lines where the terminal is narrow.
pub(super) const FINDING_AT: usize = 6;

/// A text that is wrapped as soon as the width is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    head: String,
    /// The column of the text, and that of its further lines.
    columns: [usize; 2],
    text: String,
}

/// `head`, and the words of `text` from the column `first` on; further lines begin at the column `then`.
///
/// A head has colours, so its width is that of the column.
pub(super) fn hanging(head: &str, first: usize, then: usize, text: &str) -> Line {
    Line {
        head: head.to_owned(),
        columns: [first, then],
        text: text.to_owned(),
    }
}

impl Line {
    /// A text of one line.
    pub(super) fn whole(text: String) -> Self {
        Self {
            head: text,
            columns: [0, 0],
            text: String::new(),
        }
    }

    pub(super) fn wrapped(&self, width: usize) -> Vec<String> {
        let (head, [first, mut then]) = (&self.head, self.columns);
        if first == 0 {
            return vec![head.clone()];
        }
        if then * 2 > width {
            then = FINDING_AT;
        }
        let lines = wrap(&self.text, width.saturating_sub(first.max(then)));
        let mut shown = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            shown.push(match index {
                0 if head.is_empty() => format!("{}{line}", " ".repeat(first)),
                0 => format!("  {head}{line}"),
                _ => format!("{}{line}", " ".repeat(then)),
            });
        }
        shown
    }
}

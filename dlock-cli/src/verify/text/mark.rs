//! The marks of verdicts, in colour on a terminal.

use console::style;

/// A verdict as a mark: its shape says it without the colour, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Holds,
    Note,
    Warning,
    Unknown,
    NotTried,
    Fails,
}

impl Mark {
    /// The mark. It has a colour if standard output is a terminal and `NO_COLOR` is not set.
    pub(super) fn shown(self) -> String {
        match self {
            Self::Holds => style("✓").green(),
            Self::Note => style("·").dim(),
            Self::Warning => style("▲").yellow(),
            Self::Unknown => style("?").magenta(),
            Self::NotTried => style("–").dim(),
            Self::Fails => style("✕").red().bold(),
        }
        .to_string()
    }
}

/// A text in bold on a terminal.
pub(super) fn strong(text: &str) -> String {
    style(text).bold().to_string()
}

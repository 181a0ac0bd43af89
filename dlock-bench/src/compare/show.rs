//! The changes as a table.

use std::fmt;

use super::{
    change::{Change, Judgement},
    limit::{Against, percent},
    runs::Compared,
};
use crate::text::{Table, ratio};

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(None))
    }
}

impl Compared {
    /// The changes as text, beside a limit: a figure that is too noisy for it says so.
    #[must_use]
    pub fn within(&self, limit: f64) -> String {
        self.text(Some(limit))
    }

    fn text(&self, limit: Option<f64>) -> String {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.warnings.iter().map(|one| format!("warning: {one}")));
        let noise = self.noise * 100.0;
        lines.push(format!(
            "the same thing twice differs by {noise:.1} %: what changed less is the same"
        ));
        let each = |cell: &dyn Fn(&Change) -> String| self.changes.iter().map(cell).collect();
        let columns: [Vec<String>; 6] = [
            each(&|change| format!("  {}", change.store)),
            each(&|change| change.what.clone()),
            each(&|change| ratio(change.old)),
            each(&|change| format!("→ {}", ratio(change.new))),
            each(&part),
            each(&|change| judged(change, limit)),
        ];
        lines.extend(Table::aligned(columns));
        let only = self.unmatched.iter();
        lines.extend(only.map(|store| format!("  {store}: only one of the runs has it")));
        lines.join("\n") + "\n"
    }
}

fn judged(change: &Change, limit: Option<f64>) -> String {
    let word = match change.judgement {
        Judgement::Better => "better",
        Judgement::Same => "same",
        Judgement::Worse => "worse",
    };
    match limit.filter(|limit| change.against(*limit) == Against::TooNoisy) {
        Some(limit) => format!("too noisy to judge {}", percent(limit)),
        None => word.to_owned(),
    }
}

fn part(change: &Change) -> String {
    let change = change.change;
    let half = (change.high - change.low) * 50.0;
    format!("{:+.1} % ±{half:.1}", (change.value - 1.0) * 100.0)
}

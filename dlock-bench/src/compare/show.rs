//! The changes as a table.

use std::fmt;

use super::{change::Judgement, runs::Compared};
use crate::data::Interval;

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noise = self.noise * 100.0;
        writeln!(
            f,
            "the same thing twice differs by {noise:.1} %: what changed less is the same"
        )?;
        for change in &self.changes {
            let judgement = match change.judgement {
                Judgement::Better => "better",
                Judgement::Same => "same",
                Judgement::Worse => "worse",
            };
            let (old, new) = (number(change.old), number(change.new));
            let (store, what) = (&change.store, &change.what);
            let percent = percent(change.change);
            writeln!(
                f,
                "  {store:<10} {what:<32} {old:>13} → {new:<13} {percent:>16}  {judgement}"
            )?;
        }
        for store in &self.unmatched {
            writeln!(f, "  {store:<10} only one of the runs has it")?;
        }
        Ok(())
    }
}

fn number(interval: Interval) -> String {
    let half = (interval.high - interval.low) / 2.0;
    format!("{:.2} ±{half:.2}", interval.value)
}

fn percent(change: Interval) -> String {
    let half = (change.high - change.low) * 50.0;
    format!("{:+.1} % ±{half:.1}", (change.value - 1.0) * 100.0)
}

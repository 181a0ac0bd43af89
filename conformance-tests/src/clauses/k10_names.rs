//! K10: any UTF-8 of 1 to 255 bytes without control characters is a name, and no two names collide.

use std::collections::HashSet;

use dlock_core::LockName;
use dlock_verify::{ensure, support::Outcome};

use crate::case::{Case, CaseContext, GENTLE_HELD_MAX, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(nasty_ones_are_all_different).of_size(2, GENTLE_HELD_MAX + 1),
        case!(inspect_finds_the_holder_of_each),
    ]
}

/// Names that stores interpret, fold, trim, normalise or truncate.
const NASTY: &[&str] = &[
    "a",
    "A",
    "a ",
    " a",
    "a/",
    "/a",
    "//a",
    "a//",
    "a/b",
    "a/B",
    "a//b",
    "a/b/",
    "a\\b",
    ".",
    "..",
    "./a",
    "../a",
    "a.",
    ".a",
    "a/.",
    "a/..",
    "~",
    "~root",
    "-",
    "--",
    "-rf",
    "*",
    "?",
    "a*",
    "[a]",
    "{a}",
    "{a",
    "a}",
    "{}",
    "{a}b",
    "%",
    "%2F",
    "%2f",
    "a%2Fb",
    "a%00b",
    "%25",
    "+",
    "a+b",
    "a b",
    "a  b",
    "a:b",
    "a:fence",
    "fence",
    "a;b",
    "a,b",
    "a=b",
    "a&b",
    "a|b",
    "a'b",
    "a\"b",
    "a`b",
    "$a",
    "$(a)",
    "#a",
    "@a",
    "!a",
    "^a",
    "<a>",
    "a_b",
    "a-b",
    "0",
    "00",
    "1",
    "01",
    "1.0",
    "1e0",
    "-0",
    "null",
    "NULL",
    "nil",
    "true",
    "con",
    "nul",
    "aux.txt",
    "a.lock",
    "lock",
    "a~1",
    "é",
    "e\u{301}",
    "É",
    "ß",
    "ss",
    "SS",
    "ı",
    "i",
    "I",
    "İ",
    "ﬁ",
    "fi",
    "Å",
    "\u{212b}",
    "日本",
    "🔒",
    "a\u{200b}",
    "a\u{feff}",
    "\u{feff}a",
    "\u{202e}a",
    "a\u{a0}",
    "\u{10ffff}",
    "\u{e000}",
    "\u{fffd}",
];

/// Nasty names, and long names that differ late.
///
/// The run's own mark comes last, where the store has room for it, so that it hides no prefix. The names of the target come first.
fn names(context: &CaseContext) -> Outcome<Vec<LockName>> {
    let mark = context.name("n")?;
    let (mark, first) = (mark.as_str(), context.target.names());
    let mut names = Vec::new();
    for nasty in NASTY {
        names.push(LockName::new(&format!("{first}{nasty}{mark}"))?);
        names.push(LockName::new(&format!("{mark}{nasty}"))?);
    }
    let room = LockName::BYTES_MAX - mark.len();
    for (filler, width) in [("x", 1), ("/", 1), ("X", 1), ("é", 2), ("🔒", 4), ("%", 1)] {
        let filled = filler.repeat((room - 1) / width);
        names.push(LockName::new(&format!("{mark}{filled}"))?);
        names.push(LockName::new(&format!("{mark}{filled}y"))?);
        names.push(LockName::new(&format!("{mark}{filled}Y"))?);
    }
    let count = names.iter().collect::<HashSet<_>>().len();
    ensure!(count == names.len(), "the table has doubles");
    // Spread over the table, so that each group of names has some.
    let wanted = context.times(names.len());
    let step = names.len().div_ceil(wanted);
    Ok(names.into_iter().step_by(step).collect())
}

/// One client holds all names at once: two colliding names would be one lock.
async fn nasty_ones_are_all_different(context: &CaseContext) -> Outcome {
    let (names, locker) = (names(context)?, context.locker().await?);
    for names in names.chunks(context.held_share()) {
        let mut guards = Vec::new();
        for name in names {
            let guard = locker.try_acquire(name).await?;
            guards.push(guard.ok_or_else(|| format!("{name:?} meets a name before it"))?);
        }
        // The first as well as the last: no later name has replaced it.
        for guard in &guards {
            ensure!(
                guard.is_held(),
                "{:?} was lost to another name",
                guard.name()
            );
            context.expect_taken(guard.name()).await?;
        }
        for guard in guards {
            let name = guard.name().clone();
            guard.release().await?;
            context.expect_free(&name).await?;
        }
    }
    Ok(())
}

async fn inspect_finds_the_holder_of_each(context: &CaseContext) -> Outcome {
    let locker = context.locker().await?;
    for name in names(context)? {
        let guard = locker.acquire(&name).note("ein Zettel 🗒").await?;
        let holder = context.observer().await?.inspect(&name).await?;
        let holder = holder.ok_or_else(|| format!("no holder of {name:?}"))?;
        let known = (holder.attempt, holder.token) == (Some(guard.id()), Some(guard.token()));
        ensure!(known, "{name:?} is held by {guard:?}, not by {holder:?}");
        ensure!(
            holder.note.as_deref() == Some("ein Zettel 🗒"),
            "{name:?}: the note of {holder:?}"
        );
        guard.release().await?;
        let holder = context.observer().await?.inspect(&name).await?;
        ensure!(
            holder.is_none(),
            "after a release of {name:?} there is {holder:?}"
        );
    }
    Ok(())
}

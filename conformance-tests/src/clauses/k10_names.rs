//! K10: any UTF-8 of 1 to 255 bytes without control characters is a name, and no two names collide.

use std::collections::HashSet;

use dlock_core::{Fencing, LockName};
use dlock_verify::{ensure, support::Outcome};

use crate::{
    case::{Case, CaseContext, GENTLE_HELD_MAX, case},
    target::Load,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        // Those that are held, and those that are tried or inspected.
        case!(nasty_ones_are_all_different).of_size(2, GENTLE_HELD_MAX + AT_ONCE),
        case!(inspect_finds_the_holder_of_each).of_size(2, 2 * AT_ONCE),
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

/// Under a gentle load: names that a server's collation, character set or file system may fold or refuse.
const FOLDED: &[&str] = &["a", "A", "a ", "é", "e\u{301}", "ss", "ß", "🔒"];

/// Fill a name up to its longest length.
const FILLERS: &[&str] = &["x", "/", "X", "é", "🔒", "%"];

/// How many calls there are at once: a server may be far away.
const AT_ONCE: u32 = 4;

/// Nasty names, and long names that differ late.
///
/// The run's own mark comes last, where the store has room for it, so that it hides no prefix. The names of the target
/// come first.
fn names(context: &CaseContext) -> Outcome<Vec<LockName>> {
    let mark = context.name("n")?;
    let (mark, first) = (mark.as_str(), context.target.names());
    let mut names = Vec::new();
    let (nasty, fillers) = match context.target.load() {
        Load::Full => (NASTY, FILLERS),
        Load::Gentle => (FOLDED, &FILLERS[..1]),
    };
    for nasty in nasty {
        names.push(LockName::new(&format!("{mark}{nasty}"))?);
    }
    if context.target.load() == Load::Full {
        for nasty in nasty {
            names.push(LockName::new(&format!("{first}{nasty}{mark}"))?);
        }
    }
    let room = LockName::BYTES_MAX - mark.len();
    for filler in fillers {
        let filled = filler.repeat((room - 1) / filler.len());
        names.push(LockName::new(&format!("{mark}{filled}"))?);
        names.push(LockName::new(&format!("{mark}{filled}y"))?);
        names.push(LockName::new(&format!("{mark}{filled}Y"))?);
    }
    let count = names.iter().collect::<HashSet<_>>().len();
    ensure!(count == names.len(), "the table has doubles");
    Ok(names)
}

/// Does `one` with each of `all`, some at once; the results have the order of `all`.
async fn at_once<I, T, F>(all: impl IntoIterator<Item = I>, one: impl Fn(I) -> F) -> Outcome<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = Outcome<T>> + Send + 'static,
{
    let (mut all, mut done) = (all.into_iter().peekable(), Vec::new());
    while all.peek().is_some() {
        let some = (0..AT_ONCE).zip(all.by_ref());
        let running: Vec<_> = some.map(|(_, item)| tokio::spawn(one(item))).collect();
        for task in running {
            done.push(task.await??);
        }
    }
    Ok(done)
}

/// One client holds all names at once: two colliding names would be one lock.
async fn nasty_ones_are_all_different(context: &CaseContext) -> Outcome {
    let (names, locker) = (names(context)?, context.locker().await?);
    let observer = context.observer().await?.clone();
    for names in names.chunks(context.held_share()) {
        let guards = at_once(names.to_vec(), |name| {
            let locker = locker.clone();
            async move {
                let guard = locker.try_acquire(&name).await?;
                Ok(guard.ok_or_else(|| format!("{name:?} meets another name"))?)
            }
        });
        // The first as well as the last: no later name has replaced it.
        let guards = at_once(guards.await?, |guard| {
            let observer = observer.clone();
            async move {
                let name = guard.name();
                ensure!(guard.is_held(), "{name:?} was lost to another name");
                let taken = observer.try_acquire(name).await?.is_none();
                ensure!(taken, "{name:?} is free, but a guard holds it");
                Ok(guard)
            }
        });
        let released = at_once(guards.await?, |guard| {
            let observer = observer.clone();
            async move {
                let name = guard.name().clone();
                guard.release().await?;
                let again = observer.try_acquire(&name).await?;
                let again =
                    again.ok_or_else(|| format!("{name:?} is taken, but no guard holds it"))?;
                Ok(again.release().await?)
            }
        });
        released.await?;
    }
    Ok(())
}

async fn inspect_finds_the_holder_of_each(context: &CaseContext) -> Outcome {
    let fencing = context.capabilities.fencing;
    let locker = context.locker().await?;
    let observer = context.observer().await?.clone();
    let inspected = at_once(names(context)?, |name| {
        let (locker, observer) = (locker.clone(), observer.clone());
        async move {
            let guard = locker.acquire(&name).note("ein Zettel 🗒").await?;
            let holder = observer.inspect(&name).await?;
            let holder = holder.ok_or_else(|| format!("no holder of {name:?}"))?;
            let is_token = match fencing {
                // Without an order of its grants a store may not know the token.
                Fencing::None => holder.token.is_none_or(|token| token == guard.token()),
                _ => holder.token == Some(guard.token()),
            };
            let known = holder.attempt == Some(guard.id()) && is_token;
            ensure!(known, "{name:?} is held by {guard:?}, not by {holder:?}");
            ensure!(
                holder.note.as_deref() == Some("ein Zettel 🗒"),
                "{name:?}: the note of {holder:?}"
            );
            guard.release().await?;
            let holder = observer.inspect(&name).await?;
            ensure!(
                holder.is_none(),
                "after a release of {name:?} there is {holder:?}"
            );
            Ok(())
        }
    });
    inspected.await?;
    Ok(())
}

//! The next step of the operator, from the records of both stores.

use dlock::{
    Error,
    layers::migrate::{Migration, MigrationStage},
};

/// The record of a store, or why it is not known.
pub(super) type Found<'a> = Result<Option<&'a Migration>, &'a Error>;

/// The next step: a word for programs, and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) word: &'static str,
    pub(super) text: &'static str,
}

/// The old store was closed, and the switch did not follow.
pub(super) const CLOSED: &str = "the old store is closed: it refuses programs that use it alone, and programs with migrate: \
                                 get no locks while the new store is down; when it answers: dlock migrate switch, once \
                                 more, or cancel. If it cannot come back, an empty server at its address makes cancel \
                                 possible";

/// The next step after these records.
pub(super) fn next(old: Found<'_>, new: Found<'_>) -> Next {
    let (word, text) = match (old, new) {
        (Ok(old), Ok(new)) => of_both(old, new),
        (Err(_), Ok(new)) => without_old(new.map(|new| new.stage)),
        (Ok(old), Err(_)) => without_new(old.map(|old| old.stage)),
        (Err(_), Err(_)) => (
            "status",
            "neither store answers; next: dlock migrate status",
        ),
    };
    Next { word, text }
}

type Words = (&'static str, &'static str);

fn of_both(old: Option<&Migration>, new: Option<&Migration>) -> Words {
    let of_one = match (old, new) {
        (Some(old), Some(new)) if old.id == new.id => of_one(old.stage, new.stage),
        (Some(old), Some(new)) if is_earlier(new, old) => Some((
            "status",
            "the locks of the first store count: its record is the later one, and the second store has an earlier one, as \
             from a copy of its data",
        )),
        _ => None,
    };
    of_one.unwrap_or_else(|| of_two(old.map(|old| old.stage), new.map(|new| new.stage)))
}

/// Whether the record `new` is of an earlier migration than one that has ended in the other store.
fn is_earlier(new: &Migration, old: &Migration) -> bool {
    use MigrationStage::{Arrived, Arriving, Cancelled};
    new.since_unix_micros < old.since_unix_micros
        && matches!(old.stage, Cancelled | Arrived)
        && matches!(new.stage, Arriving | Arrived)
}

/// Both records are of one migration.
fn of_one(old: MigrationStage, new: MigrationStage) -> Option<Words> {
    use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
    Some(match (old, new) {
        (Leaving, Arriving) => (
            "programs-to-both",
            "the locks of the old store count; next: migrate: in all programs, then dlock migrate switch",
        ),
        (Left, Arrived) => (
            "programs-to-new",
            "the locks of the new store count; next: its URL in all programs",
        ),
        (Closed, Arriving) => (
            "switch",
            "the old store is closed: it refuses programs that use it alone, and those with migrate: go on; next: dlock \
             migrate switch, once more, or cancel",
        ),
        (Leaving | Closed, Arrived) | (Left, Arriving) => (
            "switch",
            "the switch was begun; next: dlock migrate switch, once more",
        ),
        (Arriving | Arrived, Leaving | Closed | Left) => (
            "swap",
            "the URLs are swapped: the locks move from the second store to the first one; next: dlock migrate status, \
             in that order",
        ),
        (Leaving | Closed, Cancelled) | (Cancelled, Arriving) => (
            "cancel",
            "the cancel was cut off; next: dlock migrate cancel, once more",
        ),
        (Cancelled, Cancelled) => (
            "plan",
            "no migration: it was cancelled, and neither store refuses programs; the locks are where they were before; \
             to begin another one: dlock migrate plan",
        ),
        _ => return None,
    })
}

/// One store has no record, or that of another migration.
fn of_two(old: Option<MigrationStage>, new: Option<MigrationStage>) -> Words {
    use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
    match (old, new) {
        (Some(Closed), None) => (
            "switch",
            "the new store has no record of the migration: it is gone, or the URL has another prefix=; the old one is \
             closed; next: dlock migrate switch, once more, or cancel",
        ),
        (Some(Left), None) => (
            "switch",
            "the new store has no record of the migration: it is gone, or the URL has another prefix=; next: dlock migrate \
             switch, once more",
        ),
        (None | Some(Cancelled | Arrived), Some(Arrived)) => (
            "switch",
            "the locks of the new store count, and the first store has no record of it, so it refuses no program; if the \
             locks came from it, next: dlock migrate switch, once more",
        ),
        (None | Some(Cancelled | Arrived), Some(Arriving)) => (
            "cancel",
            "the first store has no record of the migration in the second one; if it had one: dlock migrate cancel, and \
             then start",
        ),
        (Some(Leaving), None | Some(Cancelled | Left)) => (
            "start",
            "the new store has no record of the migration: the start was cut off, or the URL has another prefix=; next: \
             dlock migrate start, once more, or cancel",
        ),
        (None | Some(Cancelled), None | Some(Cancelled)) => {
            ("plan", "no migration; next: dlock migrate plan")
        }
        (Some(Arrived), None | Some(Cancelled | Left)) => (
            "plan",
            "the locks have come to the first store from another one, and none is under way from it; next: dlock migrate \
             plan",
        ),
        _ => (
            "none",
            "these are not the two stores of one migration; each line has the URL of the other store",
        ),
    }
}

/// The old store does not answer.
fn without_old(new: Option<MigrationStage>) -> Words {
    use MigrationStage::{Arrived, Arriving, Cancelled};
    match new {
        Some(Arrived) => (
            "programs-to-new",
            "the locks of the new store count; the old one need not answer; next: the URL of the new store in all \
             programs",
        ),
        Some(Arriving) => (
            "status",
            "the locks of the old store count, and it does not answer: no program gets locks; when it does: dlock \
             migrate status",
        ),
        None | Some(Cancelled) => (
            "status",
            "the new store is in no migration; when the old one answers: dlock migrate status",
        ),
        Some(_) => (
            "status",
            "the locks have left the new store, or are about to; its line has the URL of the other one",
        ),
    }
}

/// The new store does not answer.
fn without_new(old: Option<MigrationStage>) -> Words {
    use MigrationStage::{Cancelled, Closed, Leaving, Left};
    match old {
        Some(Leaving) => (
            "status",
            "the locks of the old store count; programs that use it alone go on, those with migrate: get no locks until \
             the new store answers",
        ),
        Some(Closed) => ("switch", CLOSED),
        Some(Left) => (
            "status",
            "the locks of the new store count, and it does not answer: no program gets locks",
        ),
        None | Some(Cancelled) => (
            "status",
            "the old store is in no migration; when the new one answers: dlock migrate status",
        ),
        Some(_) => (
            "status",
            "the locks have come to the old store, or are about to; its line has the URL of the other one",
        ),
    }
}

#[cfg(test)]
mod tests {
    use dlock::{
        ErrorKind,
        layers::migrate::MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left},
    };

    use super::*;

    fn record(stage: MigrationStage, id: u8) -> Migration {
        let text = format!("{stage} {id:032x} 1 1@a etcd://etcd-1 7 0");
        text.parse().expect("a record")
    }

    #[test]
    fn each_pair_of_records_has_a_next_step() {
        for (old, new, word) in [
            (None, None, "plan"),
            (Some(Leaving), None, "start"),
            (Some(Leaving), Some(Arriving), "programs-to-both"),
            (Some(Closed), Some(Arriving), "switch"),
            (Some(Closed), Some(Arrived), "switch"),
            (Some(Left), Some(Arrived), "programs-to-new"),
            (None, Some(Arrived), "switch"),
            (None, Some(Arriving), "cancel"),
            (Some(Left), None, "switch"),
            (Some(Closed), Some(Cancelled), "cancel"),
            (Some(Cancelled), Some(Cancelled), "plan"),
            (Some(Arriving), Some(Leaving), "swap"),
            (Some(Arrived), Some(Left), "swap"),
        ] {
            let (old, new) = (
                old.map(|stage| record(stage, 1)),
                new.map(|stage| record(stage, 1)),
            );
            let next = next(Ok(old.as_ref()), Ok(new.as_ref()));
            assert_eq!(next.word, word, "{old:?} {new:?}");
        }
        let (old, new) = (record(Left, 1), record(Arrived, 2));
        assert_eq!(next(Ok(Some(&old)), Ok(Some(&new))).word, "none");
    }

    #[test]
    fn one_record_is_enough_where_it_says_all() {
        let down = Error::new(ErrorKind::Unavailable, "down");
        let (arrived, closed) = (record(Arrived, 1), record(Closed, 1));
        assert_eq!(next(Err(&down), Ok(Some(&arrived))).word, "programs-to-new");
        let without_new = next(Ok(Some(&closed)), Err(&down));
        assert_eq!((without_new.word, without_new.text), ("switch", CLOSED));
        assert_eq!(next(Err(&down), Err(&down)).word, "status");
    }
}

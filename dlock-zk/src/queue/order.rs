//! Who is before whom.

use dlock_core::{Error, ErrorKind, Result};

/// What precedes the sequence number in the names of Curator's mutexes.
const MARK: &str = "lock-";

/// The server pads sequence numbers to this, with the sign.
const DIGITS_MIN: usize = 10;

/// Where a node stands in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// It holds the lock.
    First,
    /// Next after this one.
    After(String),
    /// It is not there.
    Gone,
}

/// Where the node `ours` stands among `children`.
///
/// # Errors
///
/// `Unsupported` when somebody queues there by other rules: then neither waits for the other.
pub(crate) fn position(children: &[String], ours: &str) -> Result<Position> {
    let queue = read(children)?;
    let Some((_, own)) = queue.iter().find(|(name, _)| *name == ours) else {
        return Ok(Position::Gone);
    };
    let before = queue.iter().filter(|(_, other)| is_before(*other, *own));
    let last = before.min_by_key(|(_, other)| own.wrapping_sub(*other));
    Ok(last.map_or(Position::First, |(name, _)| {
        Position::After((*name).to_owned())
    }))
}

/// Who holds the lock, if anybody does.
///
/// # Errors
///
/// As [`position`].
pub(crate) fn first(children: &[String]) -> Result<Option<&str>> {
    let queue = read(children)?;
    let first = queue.iter().copied().reduce(|first, other| {
        if is_before(other.1, first.1) {
            other
        } else {
            first
        }
    });
    Ok(first.map(|(name, _)| name))
}

fn read(children: &[String]) -> Result<Vec<(&str, i32)>> {
    let read = children.iter().map(|child| {
        let sequence = sequence(child).ok_or_else(|| foreign(child))?;
        Ok((child.as_str(), sequence))
    });
    read.collect()
}

/// The number of a node, by its name or its path.
pub(crate) fn sequence(child: &str) -> Option<i32> {
    let (_, digits) = child.rsplit_once(MARK)?;
    (digits.len() >= DIGITS_MIN)
        .then(|| digits.parse().ok())
        .flatten()
}

/// Whether the number of a node of ours says where it stands (T48). The counter of a directory stays at its
/// largest value, and gives it to all who come later one by one, or the next ones, below zero, to those who come
/// at once.
pub(crate) fn is_counted(child: &str) -> bool {
    sequence(child).is_some_and(|number| (0..i32::MAX).contains(&number))
}

/// The counter of `directory` has come to its end.
pub(crate) fn used_up(directory: &str) -> Error {
    let why = format!(
        "the counter of the directory {directory} has come to its end; remove the directory when nobody uses the \
         lock: zkCli.sh delete {directory}"
    );
    Error::new(ErrorKind::Unsupported, why)
}

/// Sequence numbers are of 32 bits; those of others may go on below zero after the largest (T48). No queue is as
/// long as half of them.
fn is_before(a: i32, b: i32) -> bool {
    b.wrapping_sub(a) > 0
}

fn foreign(child: &str) -> Error {
    let whose = if child.contains("__lock__") || child.contains("lock__") {
        "kazoo's Lock"
    } else {
        "another recipe"
    };
    let why = format!(
        "the node {child:?} in this lock's directory is of {whose}, which does not exclude us; \
         choose another prefix= or name"
    );
    Error::new(ErrorKind::Unsupported, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn child(sequence: i32) -> String {
        format!("_c_{:032x}-lock-{sequence:010}", sequence.unsigned_abs())
    }

    #[test]
    fn the_next_lower_one_is_waited_for() {
        let children = [3, 1, 7, 5].map(child);
        assert_eq!(
            position(&children, &child(1)).expect("ours"),
            Position::First
        );
        assert_eq!(
            position(&children, &child(7)).expect("ours"),
            Position::After(child(5))
        );
        assert_eq!(
            position(&children, &child(3)).expect("ours"),
            Position::After(child(1))
        );
        assert_eq!(
            position(&children, &child(2)).expect("ours"),
            Position::Gone
        );
        assert_eq!(first(&children).expect("ours"), Some(&*child(1)));
        assert_eq!(first(&[]).expect("ours"), None);
    }

    #[test]
    fn t48_sequence_numbers_go_on_below_zero() {
        let children = [i32::MIN, i32::MAX, i32::MIN + 1, i32::MAX - 1].map(child);
        assert_eq!(first(&children).expect("ours"), Some(&*child(i32::MAX - 1)));
        let after = |own| position(&children, &child(own)).expect("ours");
        assert_eq!(after(i32::MAX), Position::After(child(i32::MAX - 1)));
        assert_eq!(after(i32::MIN), Position::After(child(i32::MAX)));
        assert_eq!(after(i32::MIN + 1), Position::After(child(i32::MIN)));
        let around_zero = [-1, 0].map(child);
        assert!(around_zero[0].ends_with("-lock--000000001"));
        assert_eq!(first(&around_zero).expect("ours"), Some(&*child(-1)));
    }

    #[test]
    fn t48_a_counter_at_its_end_counts_nothing() {
        for (number, counts) in [
            (0, true),
            (i32::MAX - 1, true),
            (i32::MAX, false),
            (i32::MIN, false),
            (-1, false),
        ] {
            assert_eq!(is_counted(&child(number)), counts, "{number}");
        }
        assert!(!is_counted("lock-2147483648"));
        let error = used_up("/dlock/a");
        assert!(error.to_string().contains("delete /dlock/a"), "{error}");
    }

    #[test]
    fn those_who_queue_otherwise_are_refused() {
        for (name, whose) in [
            (
                "4f00000000000000000000000000a1ff__lock__0000000003",
                "kazoo",
            ),
            ("_c_4f0-__WRIT__0000000003", "another recipe"),
            ("_c_4f0-lease-0000000003", "another recipe"),
            ("lock-3", "another recipe"),
            ("locks", "another recipe"),
        ] {
            let error = first(&[child(1), name.to_owned()]).expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(whose), "{error}");
        }
    }

    proptest! {
        #[test]
        fn each_but_the_first_waits_for_the_one_before(start: i32, count in 1_i32..20) {
            let queue: Vec<_> = (0..count).map(|n| child(start.wrapping_add(n))).collect();
            let mut mixed = queue.clone();
            mixed.reverse();
            for (at, name) in queue.iter().enumerate() {
                let expected = match at {
                    0 => Position::First,
                    _ => Position::After(queue[at - 1].clone()),
                };
                prop_assert_eq!(position(&mixed, name).expect("ours"), expected);
            }
        }
    }
}

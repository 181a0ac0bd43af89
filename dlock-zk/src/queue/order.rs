//! The order of queue nodes by sequence number.

use dlock_core::{Error, ErrorKind, Result};

use crate::keys::Format;

/// The server pads sequence numbers to this many characters, with the sign.
const DIGITS_MIN: usize = 10;

/// The position of a node in its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The node holds the lock.
    First,
    /// The node comes next after this one.
    After(String),
    /// The node is not in the queue.
    Gone,
}

/// The position of the node `own` among `children`.
///
/// # Errors
///
/// `Unsupported` for a node of another recipe: its client and ours would not wait for each other.
pub(crate) fn position(format: Format, children: &[String], own: &str) -> Result<Position> {
    let queue = read(format, children)?;
    let Some((_, number)) = queue.iter().find(|(name, _)| *name == own) else {
        return Ok(Position::Gone);
    };
    let before = queue.iter().filter(|(_, other)| is_before(*other, *number));
    let last = before.min_by_key(|(_, other)| number.wrapping_sub(*other));
    Ok(last.map_or(Position::First, |(name, _)| {
        Position::After((*name).to_owned())
    }))
}

/// The node that holds the lock; `None` in an empty queue.
///
/// # Errors
///
/// As [`position`].
pub(crate) fn first(format: Format, children: &[String]) -> Result<Option<&str>> {
    let queue = read(format, children)?;
    let first = queue.iter().copied().reduce(|first, other| {
        if is_before(other.1, first.1) {
            other
        } else {
            first
        }
    });
    Ok(first.map(|(name, _)| name))
}

/// A node of another recipe, whose client does not wait for ours.
pub(crate) fn foreign_node(format: Format, children: &[String]) -> Option<&str> {
    let mut children = children.iter().map(String::as_str);
    children.find(|child| sequence(format, child).is_none())
}

fn read(format: Format, children: &[String]) -> Result<Vec<(&str, i32)>> {
    let sequence = |child: &str| sequence(format, child);
    let foreign = |child: &str| foreign(format, child);
    let read = children.iter().map(|child| {
        let sequence = sequence(child).ok_or_else(|| foreign(child))?;
        Ok((child.as_str(), sequence))
    });
    read.collect()
}

/// The sequence number of a node, by its name or its path.
pub(crate) fn sequence(format: Format, child: &str) -> Option<i32> {
    let (_, digits) = child.rsplit_once(format.mark())?;
    (digits.len() >= DIGITS_MIN)
        .then(|| digits.parse().ok())
        .flatten()
}

/// Whether the number of a new node gives its position (T48). The counter of a directory ends at its
/// largest value. Later nodes get that value one by one, or numbers below zero when they are created at
/// once.
pub(crate) fn is_counted(format: Format, child: &str) -> bool {
    sequence(format, child).is_some_and(|number| (0..i32::MAX).contains(&number))
}

/// The error for a `directory` whose counter has come to its end.
pub(crate) fn used_up(directory: &str) -> Error {
    let why = format!(
        "the counter of the directory {directory} has come to its end; remove the directory when no process uses the \
         lock: zkCli.sh delete {directory}"
    );
    Error::new(ErrorKind::Unsupported, why)
}

/// Sequence numbers have 32 bits. Those of other clients may continue below zero after the largest (T48). No queue
/// is as long as half of them.
fn is_before(a: i32, b: i32) -> bool {
    b.wrapping_sub(a) > 0
}

fn foreign(format: Format, child: &str) -> Error {
    let (whose, remedy) = match format {
        Format::Curator if child.contains("lock__") => (
            "kazoo's Lock",
            "choose another prefix=, with format=kazoo to share locks with kazoo",
        ),
        Format::Kazoo if child.contains("-lock-") => (
            "Curator's or dlock's default format",
            "choose another prefix= or name",
        ),
        _ => ("another recipe", "choose another prefix= or name"),
    };
    let why = format!(
        "the node {child:?} in this lock's directory is of {whose}, which does not exclude us; {remedy}"
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
    fn a_node_waits_for_the_next_lower_one() {
        let children = [3, 1, 7, 5].map(child);
        assert_eq!(
            position(Format::Curator, &children, &child(1)).expect("of our recipe"),
            Position::First
        );
        assert_eq!(
            position(Format::Curator, &children, &child(7)).expect("of our recipe"),
            Position::After(child(5))
        );
        assert_eq!(
            position(Format::Curator, &children, &child(3)).expect("of our recipe"),
            Position::After(child(1))
        );
        assert_eq!(
            position(Format::Curator, &children, &child(2)).expect("of our recipe"),
            Position::Gone
        );
        assert_eq!(
            first(Format::Curator, &children).expect("of our recipe"),
            Some(&*child(1))
        );
        assert_eq!(first(Format::Curator, &[]).expect("of our recipe"), None);
    }

    #[test]
    fn t48_sequence_numbers_go_on_below_zero() {
        let children = [i32::MIN, i32::MAX, i32::MIN + 1, i32::MAX - 1].map(child);
        assert_eq!(
            first(Format::Curator, &children).expect("of our recipe"),
            Some(&*child(i32::MAX - 1))
        );
        let after = |own| position(Format::Curator, &children, &child(own)).expect("of our recipe");
        assert_eq!(after(i32::MAX), Position::After(child(i32::MAX - 1)));
        assert_eq!(after(i32::MIN), Position::After(child(i32::MAX)));
        assert_eq!(after(i32::MIN + 1), Position::After(child(i32::MIN)));
        let around_zero = [-1, 0].map(child);
        assert!(around_zero[0].ends_with("-lock--000000001"));
        assert_eq!(
            first(Format::Curator, &around_zero).expect("of our recipe"),
            Some(&*child(-1))
        );
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
            assert_eq!(
                is_counted(Format::Curator, &child(number)),
                counts,
                "{number}"
            );
        }
        assert!(!is_counted(Format::Curator, "lock-2147483648"));
        let error = used_up("/dlock/a");
        assert!(error.to_string().contains("delete /dlock/a"), "{error}");
    }

    #[test]
    fn nodes_of_other_recipes_are_refused() {
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
            let error = first(Format::Curator, &[child(1), name.to_owned()]).expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(whose), "{error}");
        }
    }

    #[test]
    fn nodes_of_kazoo_are_a_queue_of_their_own() {
        let node = |number: i32| format!("{:032x}__lock__{number:010}", number.unsigned_abs());
        let queue = [5, 3].map(node);
        assert_eq!(
            first(Format::Kazoo, &queue).expect("kazoo's"),
            Some(&*node(3))
        );
        let own = position(Format::Kazoo, &queue, &node(5)).expect("kazoo's");
        assert_eq!(own, Position::After(node(3)));
        assert_eq!(foreign_node(Format::Kazoo, &queue), None);
        assert_eq!(foreign_node(Format::Curator, &queue), Some(&*node(5)));
        for (name, whose) in [
            (child(4), "Curator's"),
            (node(4).replace("__lock__", "__rlock__"), "another recipe"),
        ] {
            let mixed = [node(3), name.clone()];
            assert_eq!(foreign_node(Format::Kazoo, &mixed), Some(&*name));
            let error = first(Format::Kazoo, &mixed).expect_err(&name);
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
                prop_assert_eq!(position(Format::Curator, &mixed, name).expect("of our recipe"), expected);
            }
        }
    }
}

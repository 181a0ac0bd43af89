//! Name ↔ key, and the keys that are dlock's own.
//!
//! The key of a name is the prefix and the name, as the `SET NX PX` family has it. Braces in names are
//! escaped, so that a key with braces is none of a name; so are percent signs, so that no two names are
//! one. What stands in the braces puts a key into the slot of a Cluster that it belongs to.

use dlock_core::{LockName, backend::LayoutVersion};
use percent_encoding::{AsciiSet, utf8_percent_encode};

pub(crate) mod slots;

use self::slots::tag;

const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'{').add(b'}').add(b'%');

/// Of the keys and values here and of the [record](crate::conn::history): who has another one must not grant
/// the same locks. Whoever changes them raises it; words after the last one of a record may be added.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(1);

/// Stands in the braces where one server has all names.
const ALL: &str = "all";

/// The keys of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) lock: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str, name: &LockName) -> Self {
        Self {
            lock: format!("{prefix}{}", utf8_percent_encode(name.as_str(), ESCAPED)),
        }
    }

    /// Where a release is published.
    pub(crate) fn channel(&self) -> String {
        format!("{{{}}}:free", self.lock)
    }
}

/// The counter of tokens: of all names, or of those in a slot of a Cluster.
pub(crate) fn counter(prefix: &str, slot: Option<u16>) -> String {
    own(prefix, slot, "fence")
}

/// The record of the server's history; in a Cluster in some slots of each master.
pub(crate) fn record(prefix: &str, slot: Option<u16>) -> String {
    own(prefix, slot, "record")
}

fn own(prefix: &str, slot: Option<u16>, what: &str) -> String {
    let tag = slot.map_or_else(|| ALL.to_owned(), tag);
    format!("{prefix}{{{tag}}}{what}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(name: &str) -> Keys {
        Keys::new("app:", &LockName::new(name).expect("name"))
    }

    #[test]
    fn plain_names_are_keys_as_they_are() {
        assert_eq!(keys("seat/14C").lock, "app:seat/14C");
        assert_eq!(keys("a{b}%").lock, "app:a%7Bb%7D%25");
        assert_eq!(keys("seat/14C").channel(), "{app:seat/14C}:free");
    }

    proptest! {
        #[test]
        fn no_two_names_meet_and_no_name_is_a_key_of_ours(a in "[a{}%:feDB7]{1,12}", b in "[a{}%:feDB7]{1,12}") {
            let (x, y) = (keys(&a), keys(&b));
            prop_assert_eq!(x.lock == y.lock, a == b);
            prop_assert!(!x.lock.contains(['{', '}']), "the whole key is its hash tag");
        }
    }
}

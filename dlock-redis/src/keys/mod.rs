//! Lock name ↔ key, and dlock's own keys.
//!
//! The key of a name is the prefix and the name, as in the `SET NX PX` family. Names have their braces escaped, so
//! that dlock's own keys, which have braces, never collide with them. Their percent signs are escaped, so that no
//! two names share a key. The text in the braces decides the slot of a key in a Cluster.

use dlock_core::{LockName, backend::LayoutVersion};
use percent_encoding::{AsciiSet, utf8_percent_encode};

pub(crate) mod slots;

use self::slots::tag;

const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'{').add(b'}').add(b'%');

/// The version of keys, values and the record: clients of different versions must not grant the same locks.
///
/// A change of any of them increments it. New words at the end of a record do not.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(1);

/// The text in the braces if one server has all names.
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

    /// The channel for releases.
    pub(crate) fn channel(&self) -> String {
        format!("{{{}}}:free", self.lock)
    }
}

/// The key of the token counter: of all names, or of the names in a slot of a Cluster.
pub(crate) fn counter(prefix: &str, slot: Option<u16>) -> String {
    own_key(prefix, slot, "fence")
}

/// The key of the record of the server's history; in a Cluster some slots of each master have one.
pub(crate) fn record(prefix: &str, slot: Option<u16>) -> String {
    own_key(prefix, slot, "record")
}

fn own_key(prefix: &str, slot: Option<u16>, purpose: &str) -> String {
    let tag = slot.map_or_else(|| ALL.to_owned(), tag);
    format!("{prefix}{{{tag}}}{purpose}")
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
        fn no_two_names_share_a_key_and_none_is_an_own_key(a in "[a{}%:feDB7]{1,12}", b in "[a{}%:feDB7]{1,12}") {
            let (x, y) = (keys(&a), keys(&b));
            prop_assert_eq!(x.lock == y.lock, a == b);
            prop_assert!(!x.lock.contains(['{', '}']), "the whole key is its hash tag");
        }
    }
}

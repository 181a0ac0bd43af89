//! Name ↔ key.
//!
//! The key of a name is the prefix and the name, as the `SET NX PX` family has it. Its counter is
//! `{key}:fence`: the braces put it into the key's slot of a cluster. Braces in names are escaped, so
//! that no key begins with one and no name is another one's counter; so are percent signs, so that no
//! two names are one.

use std::fmt;

use dlock_core::LockName;
use percent_encoding::{AsciiSet, utf8_percent_encode};

const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'{').add(b'}').add(b'%');

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

    /// The counter.
    pub(crate) fn fence(&self) -> impl fmt::Display {
        fmt::from_fn(|f| write!(f, "{{{}}}:fence", self.lock))
    }

    /// Where a release is published.
    pub(crate) fn channel(&self) -> String {
        format!("{{{}}}:free", self.lock)
    }
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
        let keys = keys("seat/14C");
        assert_eq!(keys.lock, "app:seat/14C");
        assert_eq!(keys.fence().to_string(), "{app:seat/14C}:fence");
    }

    proptest! {
        #[test]
        fn no_two_names_meet_and_no_name_is_a_counter(a in "[a{}%:feDB7]{1,12}", b in "[a{}%:feDB7]{1,12}") {
            let (x, y) = (keys(&a), keys(&b));
            prop_assert_eq!(x.lock == y.lock, a == b);
            prop_assert_ne!(&x.lock, &y.fence().to_string());
            prop_assert!(!x.lock.contains(['{', '}']), "the whole key is its hash tag");
        }
    }
}

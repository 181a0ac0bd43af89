//! Names of locks in a history: each text is kept once.

use std::{
    borrow::Borrow,
    collections::HashSet,
    fmt,
    ops::Deref,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

static EMPTY: LazyLock<Arc<String>> = LazyLock::new(Arc::default);

/// The name of a lock, of a fault or of its target. Cheap to clone; clones share one text.
///
/// ```
/// use dlock_verify::history::Name;
///
/// let name = Name::from("n07");
/// assert_eq!(&*name, "n07");
/// assert_eq!(name.clone(), name);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
// A pointer to a `str` has twice the size, and a history has millions of them.
pub struct Name(Arc<String>);

/// The names of one history: equal ones become clones of one text.
///
/// A history has few names and many events, so it fits in memory.
#[derive(Debug, Default)]
pub struct Names(HashSet<Name>);

impl Names {
    /// The name with this text.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.0.get(text) {
            return name.clone();
        }
        let name = Name::from(text);
        self.0.insert(name.clone());
        name
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Default for Name {
    fn default() -> Self {
        Self(EMPTY.clone())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_one_text() {
        let mut names = Names::default();
        let [one, same, other] = ["a", "a", "b"].map(|text| names.intern(text));
        assert!(Arc::ptr_eq(&one.0, &same.0));
        assert_ne!(one, other);
    }
}

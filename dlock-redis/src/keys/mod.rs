//! Lock name ↔ key, and dlock's own keys.
//!
//! The key of a name is the prefix and the name, as in the `SET NX PX` family. By default names have their braces
//! escaped, so that dlock's own keys, which have braces, never collide with them. Their percent signs are escaped, so
//! that no two names share a key. The text in the braces decides the slot of a key in a Cluster.
//!
//! With `format=plain` and `format=redisson` names are not escaped, and those that could be dlock's own keys are refused.

use dlock_core::{Error, ErrorKind, LockName, Result, backend::LayoutVersion};
use percent_encoding::{AsciiSet, utf8_percent_encode};

pub(crate) mod slots;

use self::slots::{is_tag, slot, tag};

/// How the name of a lock becomes a key: the setting `format`.
///
/// Programs with two formats do not share a prefix: connecting refuses the second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// `{`, `}` and `%` are escaped, as in `%7B`. With an empty prefix names with these characters are refused, as
    /// other clients do not escape them.
    #[default]
    Escaped,
    /// The key is the prefix and the name as it is, as that of redis-py, redsync and node-redlock. Names that could
    /// be keys of dlock's own are refused.
    Plain,
    /// Locks are kept as the plain `RLock` of Redisson keeps them: a hash, with the name as its key. The default prefix
    /// is then empty, as there. Names are those of [`Plain`](Self::Plain).
    Redisson,
}

impl Format {
    /// The layout of a prefix whose locks have this format.
    pub(crate) fn layout(self) -> LayoutVersion {
        match self {
            Self::Escaped => LAYOUT,
            Self::Plain => LAYOUT.in_format("plain"),
            Self::Redisson => LAYOUT.in_format("redisson"),
        }
    }

    /// The default prefix of all keys. The one of dlock separates locks from other data.
    pub(crate) fn default_prefix(self) -> &'static str {
        match self {
            Self::Escaped | Self::Plain => "dlock:",
            Self::Redisson => "",
        }
    }

    /// Whether a lock is a hash, whose only field is the line of the holder; else it is a string.
    pub(crate) fn has_hashes(self) -> bool {
        self == Self::Redisson
    }
}

/// The characters that [`Format::Escaped`] escapes.
const SPECIAL: [char; 3] = ['{', '}', '%'];

const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'{').add(b'}').add(b'%');

/// The version of keys, values and the record: clients of different versions must not grant the same locks.
///
/// A change of any of them increments it. New words at the end of a record do not.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(1);

/// The text in the braces if one server has all names.
const ALL: &str = "all";

/// The ends of dlock's own keys, of any prefix.
const OWN: [&str; 3] = [COUNTER, RECORD, MIGRATION];
const COUNTER: &str = "fence";
const RECORD: &str = "record";
const MIGRATION: &str = "migration";

/// The begin of the channels of Redisson's `RLock`.
const REDISSON_CHANNEL: &str = "redisson_lock__channel:";

/// The keys of one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Keys {
    pub(crate) lock: String,
    format: Format,
}

impl Keys {
    /// # Errors
    ///
    /// `InvalidInput` for a name that would be a second lock beside other clients', or a key of dlock's own.
    pub(crate) fn new(format: Format, prefix: &str, name: &LockName) -> Result<Self> {
        let name = name.as_str();
        let lock = match format {
            Format::Escaped if prefix.is_empty() && name.contains(SPECIAL) => {
                let why = "with an empty prefix= a name with {, } or % would be another lock than that of other \
                           clients; set format=plain in all programs with dlock";
                return Err(Error::new(ErrorKind::InvalidInput, why));
            }
            Format::Escaped => {
                let mut lock = String::with_capacity(prefix.len() + name.len());
                lock.push_str(prefix);
                lock.extend(utf8_percent_encode(name, ESCAPED));
                lock
            }
            Format::Plain | Format::Redisson => [prefix, name].concat(),
        };
        if is_own(&lock) {
            let why = "where names are not escaped, one must not end as keys of dlock's own do: {all}fence, \
                       {all}record, {all}migration, or three other letters in the braces";
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        Ok(Self { lock, format })
    }

    /// Checks the name for a Cluster.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a name that Redisson locks in a Cluster and cannot unlock: its channel has another slot.
    pub(crate) fn check_in_cluster(&self) -> Result<()> {
        if !self.format.has_hashes() || slot(&self.channel()) == slot(&self.lock) {
            return Ok(());
        }
        let why = "in a Cluster with format=redisson the braces of a name must be a hash tag, such as a{b}c: Redisson's \
                   channel of this name has another slot";
        Err(Error::new(ErrorKind::InvalidInput, why))
    }

    /// The channel for releases. In a Cluster it has the slot of the lock.
    pub(crate) fn channel(&self) -> String {
        self.special_channel()
            .unwrap_or_else(|| format!("{{{}}}:free", self.lock))
    }

    /// The channel of a lock where it is not the key in braces: Redisson's, or that of a key with braces. Such a key in
    /// braces would have another slot than the key.
    pub(crate) fn special_channel(&self) -> Option<String> {
        let Self { lock, format } = self;
        if format.has_hashes() {
            // From a brace on, a name is not put into further ones.
            return Some(match lock.contains('{') {
                true => format!("{REDISSON_CHANNEL}{lock}"),
                false => format!("{REDISSON_CHANNEL}{{{lock}}}"),
            });
        }
        let has_braces = lock.bytes().any(|byte| byte == b'{' || byte == b'}');
        has_braces.then(|| format!("{{{}}}{lock}:free", tag(slot(lock))))
    }
}

/// Whether this is a key of dlock's own, of this prefix or another one.
fn is_own(key: &str) -> bool {
    let before = OWN
        .iter()
        .find_map(|end| key.strip_suffix(end)?.strip_suffix('}'));
    before
        .and_then(|before| before.rsplit_once('{'))
        .is_some_and(|(_, text)| is_tag(text))
}

/// The key of the token counter: of all names, or of the names in a slot of a Cluster.
pub(crate) fn counter(prefix: &str, slot: Option<u16>) -> String {
    own_key(prefix, slot, COUNTER)
}

/// The key of the record of the server's history; in a Cluster some slots of each master have one.
pub(crate) fn record(prefix: &str, slot: Option<u16>) -> String {
    own_key(prefix, slot, RECORD)
}

/// The key of the record of a migration: one of all names, also in a Cluster.
pub(crate) fn migration(prefix: &str) -> String {
    own_key(prefix, None, MIGRATION)
}

fn own_key(prefix: &str, slot: Option<u16>, purpose: &str) -> String {
    let tag = slot.map_or_else(|| ALL.to_owned(), tag);
    format!("{prefix}{{{tag}}}{purpose}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(format: Format, prefix: &str, name: &str) -> Result<Keys> {
        Keys::new(format, prefix, &LockName::new(name).expect("name"))
    }

    fn keys(name: &str) -> Keys {
        of(Format::Escaped, "app:", name).expect("a key")
    }

    #[test]
    fn plain_names_are_keys_as_they_are() {
        assert_eq!(keys("seat/14C").lock, "app:seat/14C");
        assert_eq!(keys("a{b}%").lock, "app:a%7Bb%7D%25");
        assert_eq!(keys("seat/14C").channel(), "{app:seat/14C}:free");
        let plain = of(Format::Plain, "", "a{b}%").expect("a key");
        assert_eq!(plain.lock, "a{b}%");
        let plain = of(Format::Plain, "app:", "seat/14C").expect("a key");
        assert_eq!(plain.lock, keys("seat/14C").lock);
    }

    #[test]
    fn no_name_is_a_second_lock_beside_other_clients() {
        for name in ["a{", "}a", "50%"] {
            let error = of(Format::Escaped, "", name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("format=plain"), "{error}");
        }
        assert_eq!(of(Format::Escaped, "", "a").expect("a key").lock, "a");
    }

    #[test]
    fn a_channel_of_redisson_has_the_slot_of_its_lock_or_the_name_is_refused_in_a_cluster() {
        for (name, channel, is_right) in [
            ("a/b", "redisson_lock__channel:{a/b}", true),
            ("50%", "redisson_lock__channel:{50%}", true),
            ("a{b}c", "redisson_lock__channel:a{b}c", true),
            ("a{", "redisson_lock__channel:a{", false),
            ("a}b", "redisson_lock__channel:{a}b}", false),
            ("{}a", "redisson_lock__channel:{}a", false),
        ] {
            let keys = of(Format::Redisson, "", name).expect("a key");
            assert_eq!(
                (keys.lock.as_str(), keys.channel()),
                (name, channel.to_owned())
            );
            assert_eq!(keys.check_in_cluster().is_ok(), is_right, "{name}");
            let plain = of(Format::Plain, "", name).expect("a key");
            assert!(plain.check_in_cluster().is_ok(), "{name}");
        }
    }

    #[test]
    fn a_plain_name_is_no_key_of_ours() {
        let slot = |slot| [counter("", slot), record("app:", slot)];
        let of_slots = [slot(None), slot(Some(0)), slot(Some(16_383))].concat();
        for name in of_slots.into_iter().chain([migration("app:")]) {
            let error = of(Format::Plain, "", &name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
            assert!(of(Format::Plain, "x:", &name).is_err(), "{name}");
            assert!(of(Format::Redisson, "", &name).is_err(), "{name}");
            assert!(of(Format::Escaped, "x:", &name).is_ok(), "{name}");
        }
        for name in [
            "{order}record",
            "record",
            "{all}",
            "{}fence",
            "{all}fences",
            "{all}migrations",
            "all}fence",
        ] {
            assert!(of(Format::Plain, "", name).is_ok(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_two_names_share_a_key_and_none_is_an_own_key(a in "[a{}%:feDB7]{1,12}", b in "[a{}%:feDB7]{1,12}") {
            let (x, y) = (keys(&a), keys(&b));
            prop_assert_eq!(x.lock == y.lock, a == b);
            prop_assert!(!x.lock.contains(['{', '}']), "the whole key is its hash tag");
        }

        #[test]
        fn a_channel_has_the_slot_of_its_lock(name in "[ab{}]{1,8}", other in "[ab{}]{1,8}") {
            let plain = |name: &str| of(Format::Plain, "", name).expect("a key");
            let (keys, others) = (plain(&name), plain(&other));
            prop_assert_eq!(slot(&keys.channel()), slot(&keys.lock));
            prop_assert_eq!(keys.channel() == others.channel(), name == other);
        }
    }
}

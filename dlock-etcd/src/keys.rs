//! Lock names as keys of etcd.
//!
//! By default the queue of a name is the keys under `prefix` + name + `/`, in the order of their creation.
//! `etcdctl lock` and the Go client do the same. Our keys end with a number of the backend's own. Slashes in names are
//! escaped, so that no name's keys are under another name. Percent signs are escaped, so that no two names
//! have the same keys.
//!
//! With `format=python-etcd3` a lock is one key, `prefix` + name, without an escape. Its value says whose it is.
//!
//! A change of these keys or their values raises [`VERSION`].

use dlock_core::{Error, ErrorKind, Holder, LockName, Result, Token, backend::LayoutVersion};
use etcd_client::KeyValue;
use percent_encoding::{AsciiSet, utf8_percent_encode};

const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'/').add(b'%');

/// The version of these keys and their values.
const VERSION: LayoutVersion = LayoutVersion::new(1);

/// The start of dlock's own keys, after the prefix.
const OWN: &str = "%dlock-";

/// How the name of a lock becomes keys: the setting `format`. Each format is that of another client.
///
/// Programs with two formats do not share a prefix: connecting refuses the second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A queue of keys, as that of `etcdctl lock` and of `concurrency.Mutex` of the Go client.
    #[default]
    Concurrency,
    /// One key, as that of the `Lock` of python-etcd3. The default prefix is then `/locks/`, as there.
    PythonEtcd3,
}

impl Format {
    /// The layout of a prefix whose locks have this format.
    pub(crate) fn layout(self) -> LayoutVersion {
        match self {
            Self::Concurrency => VERSION,
            Self::PythonEtcd3 => VERSION.in_format("python-etcd3"),
        }
    }

    /// The default prefix of all keys. The one of dlock separates locks from other data.
    pub(crate) fn default_prefix(self) -> &'static str {
        match self {
            Self::Concurrency => "dlock/",
            Self::PythonEtcd3 => "/locks/",
        }
    }

    /// Whether each attempt has a key of its own in a queue; else all write the same key.
    pub(crate) fn has_queue(self) -> bool {
        self == Self::Concurrency
    }
}

/// Checks a name, before any I/O (K10).
///
/// # Errors
///
/// `InvalidInput` for a name that would be a second lock beside other clients', or a key of dlock's own.
pub(crate) fn check(format: Format, prefix: &str, name: &LockName) -> Result<()> {
    let name = name.as_str();
    let why = match format {
        Format::Concurrency if prefix.is_empty() && name.contains(['/', '%']) => {
            "with an empty prefix= a name with / or % would be another lock than that of etcdctl and the Go client"
        }
        // Also a key of another prefix is dlock's own.
        Format::PythonEtcd3 if name.contains(OWN) => {
            "with format=python-etcd3 a name must not contain what marks keys of dlock's own: %dlock-"
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// The key whose value begins with the [`VERSION`] of the locks under `prefix`. It is not the key of a lock:
/// no escaped name contains `%d`, and no other one begins with it. It is in no queue: it has no slash after the
/// prefix.
pub(crate) fn layout_record(prefix: &str) -> String {
    format!("{prefix}{OWN}layout")
}

/// The key of the record of a migration of the locks under `prefix`. It is not the key of a lock, nor in a queue, as
/// [that of the layout](layout_record) is not.
pub(crate) fn migration_record(prefix: &str) -> String {
    format!("{prefix}{OWN}migration")
}

/// The keys of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) format: Format,
    /// The prefix of all keys in the queue of the name; without a queue, the only key.
    pub(crate) queue: String,
    /// The attempt's own key, which no other backend ever writes; without a queue, the only key.
    pub(crate) own: String,
    /// While this key exists, the attempt does not create its key: a request for it may still be under way
    /// after its undo. It is outside of every queue, as no escaped name ends with `%`.
    pub(crate) tombstone: String,
}

impl Keys {
    /// The keys of a name that was [checked](check), in its `queue`.
    pub(crate) fn new(
        format: Format,
        prefix: &str,
        name: &LockName,
        queue: String,
        own: &str,
    ) -> Self {
        match format {
            // Each acquire writes them, and `fmt` takes longer.
            Format::Concurrency => Self {
                own: [&*queue, own].concat(),
                tombstone: [queue.trim_end_matches('/'), "%/", own].concat(),
                queue,
                format,
            },
            Format::PythonEtcd3 => Self {
                own: queue.clone(),
                tombstone: format!("{prefix}{OWN}undone/{own}/{name}"),
                queue,
                format,
            },
        }
    }
}

/// The prefix of all keys in the queue of `name`; without a queue, the only key.
pub(crate) fn queue(format: Format, prefix: &str, name: &LockName) -> String {
    match format {
        Format::Concurrency => {
            let mut queue = String::with_capacity(prefix.len() + name.as_str().len() + 1);
            queue.push_str(prefix);
            queue.extend(utf8_percent_encode(name.as_str(), ESCAPED));
            queue.push('/');
            queue
        }
        Format::PythonEtcd3 => [prefix, name.as_str()].concat(),
    }
}

/// The holder, by the first key of a queue.
pub(crate) fn holder(key: &KeyValue) -> Holder {
    let token = u64::try_from(key.create_revision()).ok();
    let token = token.and_then(Token::new);
    Holder::decode(key.value(), token)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(format: Format, name: &str) -> Keys {
        let name = LockName::new(name).expect("name");
        let queue = queue(format, "app/", &name);
        Keys::new(format, "app/", &name, queue, "b2")
    }

    fn keys(name: &str) -> Keys {
        of(Format::Concurrency, name)
    }

    #[test]
    fn plain_names_are_not_escaped() {
        let keys = keys("seat 14C");
        assert_eq!(keys.queue, "app/seat 14C/");
        assert_eq!(keys.own, "app/seat 14C/b2");
        assert_eq!(keys.tombstone, "app/seat 14C%/b2");
    }

    /// Other versions of dlock rely on each byte of it.
    #[test]
    fn a_change_of_the_layout_raises_its_version() {
        assert_eq!(VERSION.to_string(), "1");
        assert_eq!(layout_record("dlock/"), "dlock/%dlock-layout");
        assert_eq!(migration_record("dlock/"), "dlock/%dlock-migration");
        let name = LockName::new("a/b 100% é").expect("name");
        let (format, own) = (Format::Concurrency, "4f0000000000000000000000000000a1");
        let queue = "dlock/a%2Fb 100%25 %C3%A9/";
        assert_eq!(super::queue(format, "dlock/", &name), queue);
        let keys = Keys::new(format, "dlock/", &name, queue.to_owned(), own);
        assert_eq!(keys.queue, queue);
        assert_eq!(keys.own, format!("{queue}4f0000000000000000000000000000a1"));
        let tombstone = "dlock/a%2Fb 100%25 %C3%A9%/4f0000000000000000000000000000a1";
        assert_eq!(keys.tombstone, tombstone);
        let value = "4f0000000000000000000000000000a1 1780000000000000 4711@web-3 checkout 77";
        let holder = Holder::decode(value.as_bytes(), Token::new(5));
        let with_token =
            "4f0000000000000000000000000000a1 5 1780000000000000 4711@web-3 checkout 77";
        assert_eq!(holder, Holder::decode(with_token.as_bytes(), None));
        assert!(holder.attempt.is_some());
    }

    #[test]
    fn the_only_key_of_python_etcd3_is_the_name() {
        let keys = of(Format::PythonEtcd3, "a/b 100% é");
        assert_eq!(keys.own, "app/a/b 100% é");
        assert_eq!(keys.queue, keys.own);
        assert_eq!(keys.tombstone, "app/%dlock-undone/b2/a/b 100% é");
        assert_eq!(Format::PythonEtcd3.layout().to_string(), "1-python-etcd3");
    }

    #[test]
    fn no_name_is_a_second_lock_or_a_key_of_ours() {
        let check = |format, prefix, name: &str| {
            let name = LockName::new(name).expect("name");
            check(format, prefix, &name).map_err(|error| error.kind())
        };
        for name in ["a/b", "/", "50%"] {
            let refused = Err(ErrorKind::InvalidInput);
            assert_eq!(check(Format::Concurrency, "", name), refused, "{name}");
            assert_eq!(check(Format::Concurrency, "app/", name), Ok(()), "{name}");
            assert_eq!(check(Format::PythonEtcd3, "", name), Ok(()), "{name}");
        }
        assert_eq!(check(Format::Concurrency, "", "a"), Ok(()));
        for own in [
            layout_record("app/"),
            migration_record("app/"),
            of(Format::PythonEtcd3, "a").tombstone,
        ] {
            let own = own.strip_prefix("app/").expect("its prefix");
            let refused = Err(ErrorKind::InvalidInput);
            assert_eq!(check(Format::PythonEtcd3, "app/", own), refused, "{own}");
        }
    }

    proptest! {
        #[test]
        fn no_key_is_in_the_queue_of_another_name(a in "[a/%25F.]{1,12}", b in "[a/%25F.]{1,12}") {
            let (x, y) = (keys(&a), keys(&b));
            prop_assert_eq!(x.own.starts_with(&y.queue), a == b);
            prop_assert!(!x.tombstone.starts_with(&y.queue));
            prop_assert_eq!(x.tombstone == y.tombstone, a == b);
            prop_assert!(!layout_record("app/").starts_with(&x.queue));
            prop_assert!(!migration_record("app/").starts_with(&x.queue));
        }
    }
}

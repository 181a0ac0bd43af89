//! Lock names as keys of etcd.
//!
//! The queue of a name is the keys under `prefix` + name + `/`, in the order of their creation.
//! `etcdctl lock` and the Go client do the same. Our keys end with a number of the backend's own. Slashes in names are
//! escaped, so that no name's keys are under another name. Percent signs are escaped, so that no two names
//! have the same keys.
//!
//! A change of these keys or their values raises [`VERSION`].

use dlock_core::{Holder, LockName, Token, backend::LayoutVersion};
use etcd_client::KeyValue;
use percent_encoding::{AsciiSet, utf8_percent_encode};

const ESCAPED: &AsciiSet = &AsciiSet::EMPTY.add(b'/').add(b'%');

/// The version of these keys and their values.
pub(crate) const VERSION: LayoutVersion = LayoutVersion::new(1);

/// The key whose value begins with the [`VERSION`] of the locks under `prefix`. It is not the key of a lock:
/// no escaped name contains `%d`. It is in no queue: it has no slash after the prefix.
pub(crate) fn layout_record(prefix: &str) -> String {
    format!("{prefix}%dlock-layout")
}

/// The keys of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The prefix of all keys in the queue of the name.
    pub(crate) queue: String,
    /// The attempt's own key; no other backend ever writes it.
    pub(crate) own: String,
    /// While this key exists, the attempt's own key is not created: a request for it may still be under way
    /// after its undo. It is outside of every queue, as no escaped name ends with `%`.
    pub(crate) tombstone: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str, name: &LockName, own: &str) -> Self {
        let path = path(prefix, name);
        Self {
            own: format!("{path}/{own}"),
            tombstone: format!("{path}%/{own}"),
            queue: format!("{path}/"),
        }
    }
}

/// The prefix of all keys in the queue of `name`.
pub(crate) fn queue(prefix: &str, name: &LockName) -> String {
    format!("{}/", path(prefix, name))
}

fn path(prefix: &str, name: &LockName) -> String {
    format!("{prefix}{}", utf8_percent_encode(name.as_str(), ESCAPED))
}

/// The holder, by the first key of a queue.
pub(crate) fn holder(key: &KeyValue) -> Holder {
    let token = u64::try_from(key.create_revision()).ok();
    let token = token.and_then(Token::new);
    token.map_or_else(Holder::foreign, |token| {
        Holder::decode_with_token(key.value(), token)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(name: &str) -> Keys {
        let name = LockName::new(name).expect("name");
        Keys::new("app/", &name, "b2")
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
        let name = LockName::new("a/b 100% é").expect("name");
        let keys = Keys::new("dlock/", &name, "4f0000000000000000000000000000a1");
        let queue = "dlock/a%2Fb 100%25 %C3%A9/";
        assert_eq!(super::queue("dlock/", &name), queue);
        assert_eq!(keys.queue, queue);
        assert_eq!(keys.own, format!("{queue}4f0000000000000000000000000000a1"));
        let tombstone = "dlock/a%2Fb 100%25 %C3%A9%/4f0000000000000000000000000000a1";
        assert_eq!(keys.tombstone, tombstone);
        let value = "4f0000000000000000000000000000a1 1780000000000000 4711@web-3 checkout 77";
        let token = Token::new(5).expect("token");
        let holder = Holder::decode_with_token(value.as_bytes(), token);
        let with_token =
            "4f0000000000000000000000000000a1 5 1780000000000000 4711@web-3 checkout 77";
        assert_eq!(holder.to_string(), with_token);
    }

    proptest! {
        #[test]
        fn no_key_is_in_the_queue_of_another_name(a in "[a/%25F.]{1,12}", b in "[a/%25F.]{1,12}") {
            let (x, y) = (keys(&a), keys(&b));
            prop_assert_eq!(x.own.starts_with(&y.queue), a == b);
            prop_assert!(!x.tombstone.starts_with(&y.queue));
            prop_assert_eq!(x.tombstone == y.tombstone, a == b);
            prop_assert!(!layout_record("app/").starts_with(&x.queue));
        }
    }
}

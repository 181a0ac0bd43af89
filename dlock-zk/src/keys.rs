//! Lock name ↔ path.
//!
//! Each lock is a directory `prefix/name`, and each attempt a child of it as Curator's
//! `InterProcessMutex` names them: `_c_<uuid>-lock-<sequence>`; with `format=kazoo` as kazoo's `Lock` does:
//! `<uuid>__lock__<sequence>`. Characters that a path cannot have are
//! percent-encoded, and so are slashes: a lock has no locks inside.

use std::fmt::Write as _;

use dlock_core::{AttemptId, Error, ErrorKind, LockName, Result, Token, backend::LayoutVersion};

/// The version of the paths and of the nodes' data. A change of either that breaks the exclusion with this version
/// needs the next number.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(1);

/// How the nodes of a queue are named: the setting `format`.
///
/// Clients of two formats do not wait for each other, so two formats do not share a prefix: connecting refuses the
/// second one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// As those of Curator's `InterProcessMutex`.
    #[default]
    Curator,
    /// As those of kazoo's `Lock`.
    Kazoo,
}

impl Format {
    /// The layout of a prefix whose queues have this format.
    pub(crate) fn layout(self) -> LayoutVersion {
        match self {
            Self::Curator => LAYOUT,
            Self::Kazoo => LAYOUT.in_format("kazoo"),
        }
    }

    /// The mark before the sequence number.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Curator => "lock-",
            Self::Kazoo => "__lock__",
        }
    }

    /// Whether the servers may remove an empty directory. A kazoo client makes its lock's directory only once.
    pub(crate) fn has_containers(self) -> bool {
        self == Self::Curator
    }

    fn node_prefix(self, id: AttemptId) -> String {
        // Each acquire writes it, and `fmt` takes longer.
        let mut prefix = String::with_capacity(NODE_PREFIX_MAX);
        match self {
            Self::Curator => {
                prefix.push_str("_c_");
                push_guid(&mut prefix, id);
                prefix.push('-');
            }
            Self::Kazoo => id.with_digits(|digits| prefix.push_str(digits)),
        }
        prefix.push_str(self.mark());
        prefix
    }
}

/// No prefix of a node is longer.
const NODE_PREFIX_MAX: usize = "_c_00000000-0000-0000-0000-000000000000-lock-".len();

/// The directory of the sessions' nodes: no escaped name has a percent sign before these letters.
const ALIVE: &str = "%alive";

/// The node with the version of the layout, named for the same reason.
const RECORD: &str = "%layout";

/// The node with the record of a migration, named for the same reason.
const MIGRATION: &str = "%migration";

/// The paths of one attempt in one lock.
#[derive(Clone, Debug)]
pub(crate) struct AttemptPath {
    /// The lock's directory.
    pub(crate) directory: String,
    /// The attempt's node, without its sequence number.
    pub(crate) node_prefix: String,
}

impl AttemptPath {
    pub(crate) fn new(format: Format, prefix: &str, name: &LockName, id: AttemptId) -> Self {
        Self {
            directory: directory(prefix, name),
            node_prefix: format.node_prefix(id),
        }
    }

    /// The path of a node in the lock's directory.
    pub(crate) fn child(&self, child: &str) -> String {
        [&*self.directory, "/", child].concat()
    }

    /// The name of a node in the lock's directory.
    pub(crate) fn name_of<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.directory)?.strip_prefix('/')
    }

    /// The path that the attempt's sequential node is created with.
    pub(crate) fn create_prefix(&self) -> String {
        self.child(&self.node_prefix)
    }
}

/// Checks a name, before any I/O (K10).
///
/// # Errors
///
/// `InvalidInput` for a name that would be a second lock beside other clients', which do not escape.
pub(crate) fn check(format: Format, prefix: &str, name: &LockName) -> Result<()> {
    let where_others_are = match format {
        Format::Curator if prefix.is_empty() => "with an empty prefix=",
        Format::Curator => return Ok(()),
        Format::Kazoo => "with format=kazoo",
    };
    let what = match name.as_str() {
        // The directory of the server itself; in a chroot another client may use it.
        "zookeeper" if prefix.is_empty() => "the name zookeeper",
        name if name.contains(['/', '%']) => "a name with / or %",
        _ => return Ok(()),
    };
    let why = format!("{where_others_are} {what} would be another lock than that of other clients");
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// The directory of a lock whose name was [checked](check).
pub(crate) fn directory(prefix: &str, name: &LockName) -> String {
    [prefix, "/", &escape(name.as_str())].concat()
}

/// The directory of the sessions' nodes.
pub(crate) fn alive(prefix: &str) -> String {
    format!("{prefix}/{ALIVE}")
}

/// The node with the version of the layout. With an empty prefix it is in the chroot, as the locks are.
pub(crate) fn record(prefix: &str) -> String {
    format!("{prefix}/{RECORD}")
}

/// The node with the record of a migration, beside that of the layout.
pub(crate) fn migration(prefix: &str) -> String {
    format!("{prefix}/{MIGRATION}")
}

/// The transaction that created a node, as a token: of two nodes of one queue the later one has the larger token.
pub(crate) fn token(czxid: i64) -> Result<Token> {
    let token = u64::try_from(czxid).ok().and_then(Token::new);
    token.ok_or_else(|| Error::new(ErrorKind::Internal, "the server gave no transaction number"))
}

/// The directories above `path` and itself, from the top.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1);
    ends.chain([path.len()]).map(|end| &path[..end])
}

/// Writes the attempt's id as a UUID, by which Curator's clients find the end of its prefix.
fn push_guid(text: &mut String, id: AttemptId) {
    id.with_digits(|digits| {
        for (at, digit) in digits.char_indices() {
            if matches!(at, 8 | 12 | 16 | 20) {
                text.push('-');
            }
            text.push(digit);
        }
    });
}

fn escape(name: &str) -> String {
    let is_relative = matches!(name, "." | "..");
    let mut escaped = String::with_capacity(name.len());
    let mut bytes = [0; 4];
    for c in name.chars() {
        if is_forbidden(c) || is_relative {
            for byte in c.encode_utf8(&mut bytes).bytes() {
                // PendingWrite to a string does not fail.
                let _ = write!(escaped, "%{byte:02X}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// The server checks UTF-16: characters beyond 16 bits are surrogates there, which it forbids.
fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '%' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_that_others_do_not_escape_is_refused_where_they_are() {
        let check = |format, prefix, name: &str| {
            let name = LockName::new(name).expect("name");
            check(format, prefix, &name).map_err(|error| error.kind())
        };
        for name in ["a/b", "50%"] {
            assert_eq!(check(Format::Curator, "/app", name), Ok(()));
            for (format, prefix) in [(Format::Curator, ""), (Format::Kazoo, "/app")] {
                assert_eq!(check(format, prefix, name), Err(ErrorKind::InvalidInput));
                assert_eq!(check(format, prefix, "a b{c}"), Ok(()));
            }
        }
    }

    fn dir(name: &str) -> String {
        directory("/app", &LockName::new(name).expect("name"))
    }

    #[test]
    fn names_are_one_level_and_forbidden_characters_are_escaped() {
        for (name, path) in [
            ("seat", "/app/seat"),
            ("seat/14C", "/app/seat%2F14C"),
            (".", "/app/%2E"),
            ("..", "/app/%2E%2E"),
            ("...", "/app/..."),
            ("a b{c}", "/app/a b{c}"),
            ("50%", "/app/50%25"),
            ("日本", "/app/日本"),
            ("\u{e000}", "/app/%EE%80%80"),
            ("😀", "/app/%F0%9F%98%80"),
        ] {
            assert_eq!(dir(name), path);
        }
    }

    #[test]
    fn a_name_that_other_clients_write_otherwise_is_refused() {
        let checked = |format, prefix, name: &str| check(format, prefix, &LockName::new(name)?);
        for format in [Format::Curator, Format::Kazoo] {
            for name in ["zookeeper", "a/b", "50%"] {
                let error = checked(format, "", name).expect_err(name);
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            }
            checked(format, "/app", "zookeeper").expect("a name below the top");
        }
        checked(Format::Curator, "/app", "a/b").expect("an escaped name");
        checked(Format::Kazoo, "/app", "a/b").expect_err("kazoo does not escape");
    }

    #[test]
    fn nodes_are_like_those_of_curator() {
        let id = AttemptId::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let path = AttemptPath::new(
            Format::Curator,
            "/app",
            &LockName::new("a").expect("name"),
            id,
        );
        assert_eq!(
            path.create_prefix(),
            "/app/a/_c_01234567-89ab-cdef-0123-456789abcdef-lock-"
        );
    }

    #[test]
    fn nodes_are_like_those_of_kazoo() {
        let id = AttemptId::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let name = LockName::new("a").expect("name");
        let path = AttemptPath::new(Format::Kazoo, "/app", &name, id);
        assert_eq!(
            path.create_prefix(),
            "/app/a/0123456789abcdef0123456789abcdef__lock__"
        );
        assert_eq!(Format::Kazoo.layout().to_string(), "1-kazoo");
    }

    /// Other processes rely on these paths. A change of them changes [`LAYOUT`], too.
    #[test]
    fn layout_1_byte_for_byte() {
        assert_eq!(LAYOUT.to_string(), "1");
        let id = AttemptId::from_u128(0x4f00_0000_0000_0000_0000_0000_0000_00a1);
        for (prefix, name, own) in [
            ("/dlock", "seat/14C", "/dlock/seat%2F14C"),
            ("/team/app", "50% Ä😀", "/team/app/50%25 Ä%F0%9F%98%80"),
            ("", "a", "/a"),
            ("", ".", "/%2E"),
        ] {
            let path = AttemptPath::new(
                Format::Curator,
                prefix,
                &LockName::new(name).expect("name"),
                id,
            );
            let node = "_c_4f000000-0000-0000-0000-0000000000a1-lock-";
            assert_eq!(path.create_prefix(), format!("{own}/{node}"));
        }
        assert_eq!(record("/dlock"), "/dlock/%layout");
        assert_eq!(record(""), "/%layout");
        assert_eq!(migration("/dlock"), "/dlock/%migration");
        assert_eq!(migration(""), "/%migration");
        assert_eq!(alive("/dlock"), "/dlock/%alive");
        assert_eq!(alive(""), "/%alive");
    }

    #[test]
    fn ancestors_come_from_the_top() {
        assert_eq!(
            ancestors("/a/b/c").collect::<Vec<_>>(),
            ["/a", "/a/b", "/a/b/c"]
        );
        assert_eq!(ancestors("/a").collect::<Vec<_>>(), ["/a"]);
    }

    proptest! {
        #[test]
        fn no_two_names_meet(a in "[a%2F/.\u{e000}]{1,6}", b in "[a%2F/.\u{e000}]{1,6}") {
            prop_assert_eq!(dir(&a) == dir(&b), a == b);
            prop_assert_ne!(dir(&a), alive("/app"));
            prop_assert_ne!(dir(&a), record("/app"));
            prop_assert_ne!(dir(&a), migration("/app"));
        }
    }
}

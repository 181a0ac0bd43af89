//! Lock name ↔ file name, and the version of the layout.

use std::{borrow::Cow, fmt, fmt::Write, sync::Arc};

use dlock_core::{LockName, backend::LayoutVersion};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

/// The version of the layout: names, locking and contents of lock files. A change that this version would not
/// exclude raises it.
pub(crate) const LAYOUT: LayoutVersion = LayoutVersion::new(1);

/// The end of each file name. It also keeps the names `.` and `..` from being directories.
const SUFFIX: &str = ".lock";

/// The longest file name that is made. Most file systems take 255 bytes, eCryptfs (encrypted home
/// directories) no more than this.
const FILE_NAME_BYTES_MAX: usize = 143;

/// The mark between the readable head and the hash of a name that is too long. It is escaped
/// everywhere else, so a hashed file name is never the file name of a short lock name.
const HASH_MARK: char = '~';

/// The digits of a SHA-256: two hexadecimal ones for each of its 32 bytes.
const HASH_DIGITS: usize = 64;

/// The readable head of a name that is too long.
const HEAD_BYTES_MAX: usize = FILE_NAME_BYTES_MAX - SUFFIX.len() - 1 - HASH_DIGITS;

/// Everything but `a-z 0-9 - _ .` is escaped. Upper case is, because a file system that ignores case would merge
/// `A` and `a` (K10). Bytes past ASCII are, because one that normalizes Unicode would merge two spellings of `é`.
const ESCAPED: &AsciiSet = &escaped();

const fn escaped() -> AsciiSet {
    let mut set = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    let mut upper = b'A';
    while upper <= b'Z' {
        set = set.add(upper);
        upper += 1;
    }
    set
}

/// The name of a lock file inside its directory: ASCII, at most [`FILE_NAME_BYTES_MAX`] bytes, and
/// different for different lock names even where case is ignored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileName(Arc<str>);

impl FileName {
    /// The file of the lock `name` of those that share `prefix`.
    pub(crate) fn of(prefix: &str, name: &LockName) -> Self {
        Self(escaped_name(&full_name(prefix, name), SUFFIX).into())
    }

    /// A file name that was found in a directory; it may not be a lock's.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "found by inotify only")
    )]
    pub(crate) fn from_directory(found: &str) -> Self {
        Self(found.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// The name of the link with the record of a migration. Its end is no lock file's, and as long.
pub(crate) fn migration_link(prefix: &str) -> String {
    escaped_name(&format!("{prefix}migration"), ".move")
}

/// `full` as the name of a file with this `end`, which has as many bytes as [`SUFFIX`].
fn escaped_name(full: &str, end: &str) -> String {
    let mut file_name = String::with_capacity(FILE_NAME_BYTES_MAX);
    file_name.extend(utf8_percent_encode(full, ESCAPED));
    if file_name.len() + SUFFIX.len() > FILE_NAME_BYTES_MAX {
        cut_at_escape(&mut file_name, HEAD_BYTES_MAX);
        file_name.push(HASH_MARK);
        for byte in Sha256::digest(full.as_bytes()) {
            // Writing to a string cannot fail.
            let _ = write!(file_name, "{byte:02x}");
        }
    }
    file_name.push_str(end);
    file_name
}

/// The prefixed name, which is escaped into the file name and written into the file for people.
pub(crate) fn full_name<'a>(prefix: &str, name: &'a LockName) -> Cow<'a, str> {
    match prefix {
        "" => name.as_str().into(),
        prefix => [prefix, name.as_str()].concat().into(),
    }
}

/// Shortens `escaped` to at most `bytes_max` without leaving half an escape at its end.
fn cut_at_escape(escaped: &mut String, bytes_max: usize) {
    const ESCAPE_BYTES: usize = "%41".len();
    escaped.truncate(bytes_max);
    if let Some(last) = escaped
        .rfind('%')
        .filter(|at| at + ESCAPE_BYTES > escaped.len())
    {
        escaped.truncate(last);
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    fn file_of(name: &str) -> String {
        FileName::of("", &LockName::new(name).expect("name"))
            .as_str()
            .to_owned()
    }

    fn names() -> impl Strategy<Value = String> {
        let any = "\\PC{1,255}".prop_filter("a lock name", |name| LockName::new(name).is_ok());
        prop_oneof![any, "[aAbB/.%~ {}é]{1,100}", "[aA]{120,255}"]
            .prop_filter("a lock name", |name| LockName::new(name).is_ok())
    }

    /// Names of at most 64 bytes, each of which becomes three.
    fn short_names() -> impl Strategy<Value = String> {
        prop_oneof!["\\PC{1,16}", "[aAbB/.%~ {}é]{1,30}"]
            .prop_filter("a lock name", |name| LockName::new(name).is_ok())
    }

    proptest! {
        #[test]
        fn different_names_have_different_files_even_where_case_is_ignored(
            one in names(),
            other in names(),
        ) {
            let (first, second) = (file_of(&one).to_lowercase(), file_of(&other).to_lowercase());
            prop_assert_eq!(first == second, one == other);
        }

        #[test]
        fn names_that_differ_in_one_place_only_stay_apart(name in names(), at: prop::sample::Index) {
            let mut other: Vec<char> = name.chars().collect();
            let at = at.index(other.len());
            other[at] = if other[at] == 'x' { 'y' } else { 'x' };
            let other: String = other.into_iter().collect();
            prop_assert_ne!(file_of(&name).to_lowercase(), file_of(&other).to_lowercase());
        }

        #[test]
        fn every_file_name_is_short_plain_and_no_path(name in names()) {
            let file = file_of(&name);
            prop_assert!(file.len() <= FILE_NAME_BYTES_MAX);
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.%~".contains(c);
            prop_assert!(file.chars().all(plain), "{}", file);
            prop_assert!(file.ends_with(SUFFIX) && file.len() > SUFFIX.len());
        }

        #[test]
        fn a_short_name_is_not_hashed_and_can_be_read_back(name in short_names()) {
            let file = file_of(&name);
            prop_assert!(!file.contains(HASH_MARK), "{}", file);
            let stem = file.strip_suffix(SUFFIX).expect("suffix");
            let back = percent_decode_str(stem).decode_utf8().expect("UTF-8");
            prop_assert_eq!(back.as_ref(), name.as_str());
        }
    }

    #[test]
    fn usual_names_stay_readable() {
        assert_eq!(file_of("nightly-report"), "nightly-report.lock");
        assert_eq!(file_of("invoices/2026-08"), "invoices%2F2026-08.lock");
        assert_eq!(file_of("seat/14C"), "seat%2F14%43.lock");
        assert_eq!(file_of("."), "..lock");
        assert_eq!(file_of(".."), "...lock");
    }

    #[test]
    fn the_longest_names_are_hashed_apart() {
        let one = file_of(&"a".repeat(255));
        let other = file_of(&format!("{}b", "a".repeat(254)));
        assert_eq!(
            (one.len(), other.len()),
            (FILE_NAME_BYTES_MAX, FILE_NAME_BYTES_MAX)
        );
        assert_ne!(one, other);
        assert_eq!(file_of(&"a".repeat(138)).len(), FILE_NAME_BYTES_MAX);
        assert!(!file_of(&"a".repeat(138)).contains(HASH_MARK));
        assert!(file_of(&"a".repeat(139)).contains(HASH_MARK));
    }

    #[test]
    fn half_an_escape_is_never_left() {
        let name = "é".repeat(127);
        let file = file_of(&name);
        let head = file.split(HASH_MARK).next().expect("head");
        assert!(
            head.len() <= HEAD_BYTES_MAX && head.len().is_multiple_of(3),
            "{head}"
        );
    }

    #[test]
    fn a_prefix_is_part_of_the_name() {
        let name = LockName::new("a").expect("name");
        assert_eq!(FileName::of("app/", &name).as_str(), "app%2Fa.lock");
    }
}

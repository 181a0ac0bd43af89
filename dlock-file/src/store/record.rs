//! The record in a lock file: the last token, the lock's name, and its holder.
//!
//! ```text
//! dlock 1 00001780000000000000
//! invoices/2026-08
//! 4f0000000000000000000000000000a1 1780000000000000 1780000000000000 4711@web-3 checkout 77
//! ```
//!
//! The third line is empty while the lock is free. The rest is line feeds up to [`RECORD_BYTES`], so that one
//! write at the start replaces all of an older record. It stays within one page, which a `kill -9` cannot cut in
//! two. The file never has to be shortened.

use dlock_core::{Holder, Result, Token};

use crate::{errors::BACKEND, keys::LAYOUT};

/// The size of a record. It has room for a token, the longest name with the longest prefix, and a holder with the
/// longest note and host name (1000 bytes).
pub(crate) const RECORD_BYTES: usize = 1024;

/// The first bytes of every lock file; the version of the layout comes after them.
const MARK: &str = "dlock ";

/// The first bytes of a lock file of this version. A file of another program or version starts otherwise.
const HEADER: &str = "dlock 1 ";

/// Every token has this many digits, so that a shorter one never leaves digits of a longer one.
const TOKEN_DIGITS: usize = 20;

/// The size of the first line, which has all that a grant needs: the version and the last token.
pub(crate) const FIRST_LINE_BYTES: usize = HEADER.len() + TOKEN_DIGITS + 1;

/// The record that was read from a lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The token of the last grant; `None` in a new, cut or foreign file.
    pub(crate) token: Option<Token>,
    /// The last holder, unless it has released the lock.
    pub(crate) holder: Option<Holder>,
}

impl Record {
    /// Reads a record out of anything at all. The first line alone gives the token.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let token = lines.next().and_then(parse_token);
        // A line that was caught in the middle of a write belongs to another token.
        let holder = lines
            .nth(1)
            .map(|line| Holder::decode(line, None))
            .filter(|holder| holder.attempt.is_some() && holder.token == token);
        Self { token, holder }
    }

    /// Refuses the record of another layout: what it says of tokens would be lost, and perhaps it is locked in another
    /// way.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, with both numbers.
    pub(crate) fn check_layout(bytes: &[u8]) -> Result<()> {
        let version = bytes
            .strip_prefix(MARK.as_bytes())
            .and_then(|rest| rest.split(|byte| *byte == b' ').next())
            .and_then(|version| str::from_utf8(version).ok());
        match version.filter(|version| version.parse::<u32>().is_ok()) {
            Some(version) => LAYOUT.check(BACKEND, version),
            None => Ok(()),
        }
    }

    /// The token of the grant after this record: it grows by the record, and by the clock when the
    /// record was lost (K5). `None` only past the range of tokens.
    pub(crate) fn next_token(&self, unix_micros: u64) -> Option<Token> {
        let counted = self.token.map_or(0, Token::get) + 1;
        Token::new(counted.max(unix_micros)).filter(|token| token.get() <= Token::MAX)
    }
}

/// The line of a holder that this program wrote, with another `token`.
pub(crate) fn line(holder: &Holder, token: Token) -> Option<String> {
    let (attempt, since) = (holder.attempt?, holder.since_unix_micros?);
    let (pid, host) = (holder.pid?, holder.host.as_deref()?);
    let mut line = format!("{attempt} {token} {since} {pid}@{host}");
    if let Some(note) = &holder.note {
        line.push(' ');
        line.push_str(note);
    }
    Some(line)
}

/// The record of the lock `name` with `token`: `holder` has it, as [`Holder::encode`] wrote it with the token, or it is
/// free since.
pub(crate) fn render(token: Token, name: &str, holder: Option<&str>) -> [u8; RECORD_BYTES] {
    let mut record = [b'\n'; RECORD_BYTES];
    let token = digits(token);
    let lines = [name.as_bytes(), holder.unwrap_or_default().as_bytes()];
    record[..HEADER.len()].copy_from_slice(HEADER.as_bytes());
    record[HEADER.len()..][..TOKEN_DIGITS].copy_from_slice(&token);
    let mut at = FIRST_LINE_BYTES;
    for line in lines {
        // The limits of names, prefixes and notes keep it within; the last byte stays a line feed.
        let bytes = line.len().min(RECORD_BYTES - 1 - at);
        record[at..][..bytes].copy_from_slice(&line[..bytes]);
        at = (at + bytes + 1).min(RECORD_BYTES - 1);
    }
    record
}

/// The token in decimal, with zeros in front. Several times as fast as by `fmt`, which was an eighth of a lock cycle.
fn digits(token: Token) -> [u8; TOKEN_DIGITS] {
    let (mut digits, mut rest) = ([b'0'; TOKEN_DIGITS], token.get());
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    digits
}

fn parse_token(line: &[u8]) -> Option<Token> {
    let digits = line.strip_prefix(HEADER.as_bytes())?;
    if digits.len() != TOKEN_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // A larger one was never given, and to count on from it would leave the range.
    str::from_utf8(digits)
        .ok()?
        .parse()
        .ok()
        .filter(|token| *token < Token::MAX)
        .and_then(Token::new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Digits of two tokens up to this one never make a number past the range. The clock reaches it in the year 128,000.
    const UNTORN_MAX: u64 = 3_999_999_999_999_999_999;

    const LINE: &str =
        "4f0000000000000000000000000000a1 77 1780000000000000 4711@web-3 checkout 77";

    fn holder() -> Holder {
        Holder::decode(LINE.as_bytes(), None)
    }

    fn token(value: u64) -> Token {
        Token::new(value).expect("token")
    }

    #[test]
    fn what_was_written_is_read() {
        let held = Record::parse(&render(token(77), "a", Some(LINE)));
        assert_eq!(
            held,
            Record {
                token: Some(token(77)),
                holder: Some(holder())
            }
        );
        let free = Record::parse(&render(token(77), "a", None));
        assert_eq!(
            free,
            Record {
                token: Some(token(77)),
                holder: None
            }
        );
    }

    #[test]
    fn another_layout_is_distinguished_from_garbage() {
        assert_eq!(HEADER, format!("{MARK}{LAYOUT} "));
        for ours in [
            "",
            "hello",
            "dlock",
            "dlock ",
            "dlock x 7",
            "dlock -2 7",
            "dlock 1 7",
        ] {
            assert!(Record::check_layout(ours.as_bytes()).is_ok(), "{ours:?}");
        }
        for other in ["dlock 2 7\n", "dlock 0 ", "dlock 10 00000000000000000077\n"] {
            assert!(Record::check_layout(other.as_bytes()).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_shorter_record_leaves_nothing_of_a_longer_one() {
        let mut file = render(token(Token::MAX - 1), &"x".repeat(255), Some(LINE));
        file.copy_from_slice(&render(token(1), "a", None));
        assert_eq!(
            Record::parse(&file),
            Record {
                token: Some(token(1)),
                holder: None
            }
        );
    }

    #[test]
    fn the_largest_record_fits() {
        let line = format!(
            "{} {}",
            LINE.replace("web-3", &"h".repeat(255)),
            "n".repeat(255)
        );
        let record = render(token(77), &"x".repeat(64 + 255), Some(&line));
        let holder = Holder::decode(line.as_bytes(), None);
        assert!(holder.attempt.is_some());
        assert_eq!(Record::parse(&record).holder, Some(holder));
    }

    #[test]
    fn the_first_line_is_enough_for_the_token() {
        let record = render(token(77), "a", Some(LINE));
        assert_eq!(record[FIRST_LINE_BYTES - 1], b'\n');
        let found = Record::parse(&record[..FIRST_LINE_BYTES]);
        assert_eq!((found.token, found.holder), (Some(token(77)), None));
    }

    #[test]
    fn a_holder_of_another_token_is_a_torn_read() {
        let torn = render(token(78), "a", Some(LINE));
        assert_eq!(
            Record::parse(&torn),
            Record {
                token: Some(token(78)),
                holder: None
            }
        );
    }

    #[test]
    fn the_token_grows_by_the_record_and_by_the_clock() {
        let at = |last| Record {
            token: last,
            holder: None,
        };
        assert_eq!(at(None).next_token(500), Some(token(500)));
        assert_eq!(at(Some(token(700))).next_token(500), Some(token(701)));
        assert_eq!(at(Some(token(400))).next_token(500), Some(token(500)));
        assert_eq!(at(None).next_token(0), Some(token(1)));
    }

    #[test]
    fn garbage_and_impossible_tokens_count_as_none() {
        for bad in [
            "",
            "hello",
            "dlock 1 ",
            "dlock 2 00000000000000000077\n",
            "dlock 1 0000000000000000077\n",
            "dlock 1 00000000000000000000\n",
            "dlock 1 99999999999999999999\n",
            "dlock 1 18446744073709551615\n",
            "dlock 1 -0000000000000000077\n",
        ] {
            assert_eq!(Record::parse(bad.as_bytes()), Record::default(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_content_gives_a_growing_token(bytes: Vec<u8>, now in 1..Token::MAX) {
            let record = Record::parse(&bytes);
            let next = record.next_token(now).expect("within range");
            prop_assert!(next.get() >= now && record.token.is_none_or(|last| last < next));
        }

        #[test]
        fn a_record_has_its_lines_and_line_feeds(
            value in 1..Token::MAX,
            name in "[^\\p{Cc}]{1,70}",
            holder in prop::option::of("[^\\p{Cc}]{1,150}"),
        ) {
            let record = render(token(value), &name, holder.as_deref());
            let holder = holder.unwrap_or_default();
            let text = format!("{HEADER}{value:020}\n{name}\n{holder}\n");
            prop_assert_eq!(&record[..text.len()], text.as_bytes());
            prop_assert!(record[text.len()..].iter().all(|byte| *byte == b'\n'));
        }

        /// A full disk or a crash may end a write anywhere.
        #[test]
        fn a_record_written_in_part_gives_no_smaller_token(
            cut in 0..RECORD_BYTES,
            last in 1..UNTORN_MAX,
            grows_by in prop_oneof![1..1000_u64, 1..UNTORN_MAX],
        ) {
            let next = (last + grows_by).min(UNTORN_MAX);
            let mut file = render(token(last), "a", Some(LINE));
            file[..cut].copy_from_slice(&render(token(next), "a", None)[..cut]);
            prop_assert!(Record::parse(&file).token >= Some(token(last)));
        }

        #[test]
        fn a_record_cut_anywhere_never_gives_another_token(cut in 0..RECORD_BYTES, value in 1..Token::MAX) {
            let whole = render(token(value), "a", Some(LINE));
            let found = Record::parse(&whole[..cut]).token;
            prop_assert!(found.is_none() || found == Some(token(value)));
        }
    }
}

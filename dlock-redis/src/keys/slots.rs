//! Slots of a Cluster, and a hash tag for each.

use std::sync::LazyLock;

use crc16::{State, XMODEM};

/// The number of slots.
pub(crate) const SLOTS: u16 = 16_384;

/// The letters of tags. Three of them reach all slots.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The first tag of each slot.
static TAGS: LazyLock<Vec<[u8; 3]>> = LazyLock::new(|| {
    let mut tags = vec![[0; 3]; usize::from(SLOTS)];
    for &a in LETTERS {
        for &b in LETTERS {
            for &c in LETTERS {
                let tag = [a, b, c];
                let entry = &mut tags[usize::from(hash(&tag))];
                if entry[0] == 0 {
                    *entry = tag;
                }
            }
        }
    }
    tags
});

/// The slot of a key: that of its hash tag, or of the whole key if it has none.
pub(crate) fn slot(key: &str) -> u16 {
    hash(hash_tag(key).unwrap_or(key).as_bytes())
}

/// The text between the first `{` and the next `}`, if there is any.
fn hash_tag(key: &str) -> Option<&str> {
    let (_, rest) = key.split_once('{')?;
    let (tag, _) = rest.split_once('}')?;
    (!tag.is_empty()).then_some(tag)
}

/// Whether this text may be a [tag].
pub(super) fn is_tag(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// The text that puts a key into this slot, in braces.
pub(crate) fn tag(slot: u16) -> String {
    let tag = TAGS.get(usize::from(slot)).copied().unwrap_or_default();
    tag.into_iter().map(char::from).collect()
}

fn hash(bytes: &[u8]) -> u16 {
    State::<XMODEM>::calculate(bytes) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        // From the server's documentation (CLUSTER KEYSLOT).
        assert_eq!(slot("somekey"), 11_058);
        assert_eq!(slot("123456789"), 12_739);
    }

    #[test]
    fn only_the_first_braces_with_a_text_decide() {
        for (key, hashed) in [
            ("a{b}c", "b"),
            ("{b}{c}", "b"),
            ("a{{b}}c", "{b"),
            ("a{}{b}", "a{}{b}"),
            ("a}b{c", "a}b{c"),
            ("a}{b}", "b"),
        ] {
            assert_eq!(slot(key), hash(hashed.as_bytes()), "{key}");
        }
    }

    #[test]
    fn each_slot_has_a_tag_that_stays() {
        for number in 0..SLOTS {
            assert_eq!(slot(&tag(number)), number);
        }
        // A change of these moves the counters: a new version of the layout.
        assert_eq!([tag(0), tag(8_000), tag(SLOTS - 1)], ["DLH", "Dxz", "BdY"]);
    }
}

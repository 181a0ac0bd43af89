//! The mark of the entries of `migrate:` in the old store: the begin of their notes.

use std::sync::{Arc, LazyLock};

use dlock_core::{Holder, backend::AcquireRequest};

/// The begin of the notes.
const TAG: &str = "[migrate]";

/// The note of most requests.
static TAG_ALONE: LazyLock<Arc<str>> = LazyLock::new(|| TAG.into());

/// The note of `request` in the old store. One that is too long with the tag is cut at its end.
pub(super) fn tagged(note: Option<&str>) -> Arc<str> {
    let Some(note) = note else {
        return TAG_ALONE.clone();
    };
    let mut text = format!("{TAG} {note}");
    text.truncate(text.floor_char_boundary(AcquireRequest::NOTE_BYTES_MAX));
    text.into()
}

/// The holder without the tag; whether it had one.
pub(super) fn untagged(mut holder: Holder) -> (Holder, bool) {
    let rest = holder
        .note
        .as_deref()
        .and_then(|note| note.strip_prefix(TAG));
    let Some(rest) = rest.map(|rest| rest.trim_start().to_owned()) else {
        return (holder, false);
    };
    holder.note = (!rest.is_empty()).then_some(rest);
    (holder, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(note: Option<&str>) -> Holder {
        let mut holder = Holder::foreign();
        holder.note = note.map(str::to_owned);
        holder
    }

    #[test]
    fn a_note_is_the_same_without_its_tag() {
        for note in [None, Some("checkout 77"), Some("[b]")] {
            let (holder, is_tagged) = untagged(with(Some(&tagged(note))));
            assert_eq!((holder.note.as_deref(), is_tagged), (note, true));
            assert_eq!(untagged(with(note)), (with(note), false));
        }
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let long = "ä".repeat(AcquireRequest::NOTE_BYTES_MAX / 2);
        let cut = tagged(Some(&long));
        assert!(cut.len() <= AcquireRequest::NOTE_BYTES_MAX && cut.ends_with('ä'));
    }
}

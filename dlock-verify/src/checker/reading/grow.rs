//! Growth of the vectors of a long history.

/// Adds to a vector that grows by an eighth rather than to twice its length: a long history has little room to
/// spare.
pub(super) fn push<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len() / 8 + 4);
    }
    items.push(item);
}

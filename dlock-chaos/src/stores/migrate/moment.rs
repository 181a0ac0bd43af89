//! Before the switch of a move, or after it.

/// The moment of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stores) enum Moment {
    BeforeSwitch,
    AfterSwitch,
}

impl Moment {
    /// The name of the store.
    pub(super) fn store(self) -> &'static str {
        match self {
            Self::BeforeSwitch => "migrate",
            Self::AfterSwitch => "migrate-after",
        }
    }
}

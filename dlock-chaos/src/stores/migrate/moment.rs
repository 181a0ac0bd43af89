//! Before the switch of a move, or after it.

/// The moment of the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stores) enum Migrate {
    BeforeSwitch,
    AfterSwitch,
}

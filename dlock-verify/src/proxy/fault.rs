//! The faults of a network.

use std::{num::NonZeroU32, time::Duration};

/// The direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Direction {
    /// Requests.
    ToServer,
    /// Replies.
    ToClient,
}

/// The fault of one direction of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes pass.
    #[default]
    None,
    /// Bytes pass with this delay, in order. The bandwidth stays the same while no more than about 1 MB
    /// is in flight.
    Delay(Duration),
    /// Bytes pass at this rate per second.
    Throttle(NonZeroU32),
    /// Bytes and the end of the stream are held back: a network partition.
    ///
    /// They arrive when the fault is changed, as TCP's retransmissions do.
    Hold,
    /// Bytes are discarded. Later bytes have a gap before them, so end the connection rather than let
    /// them pass.
    Discard,
    /// The next bytes cut the connection instead of passing.
    ///
    /// In direction [`ToClient`](Direction::ToClient) the server has executed a request, and its reply is
    /// lost.
    CutInstead,
}

/// A fault for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "tests write it as a literal")]
pub struct Faults {
    /// For requests.
    pub to_server: Fault,
    /// For replies.
    pub to_client: Fault,
}

impl Faults {
    /// The same fault in both directions; `both(Fault::Hold)` is a black hole.
    #[must_use]
    pub fn both(fault: Fault) -> Self {
        Self {
            to_server: fault,
            to_client: fault,
        }
    }

    pub(super) fn set(&mut self, direction: Direction, fault: Fault) {
        match direction {
            Direction::ToServer => self.to_server = fault,
            Direction::ToClient => self.to_client = fault,
        }
    }
}

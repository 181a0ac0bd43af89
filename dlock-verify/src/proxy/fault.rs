//! What can go wrong on the way.

use std::{num::NonZeroU32, time::Duration};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Direction {
    /// Requests.
    ToServer,
    /// Replies.
    ToClient,
}

/// What happens to the bytes of one direction of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// They pass.
    #[default]
    None,
    /// They pass that much later, in order, as on a long line. Its bandwidth is not less, as long as
    /// no more than about 1 MB is on the way.
    Delay(Duration),
    /// They pass at this many bytes a second.
    Throttle(NonZeroU32),
    /// They wait, and so does the end of the stream: a network partition. They arrive when the fault
    /// is changed, as what TCP sends again does.
    Hold,
    /// They are taken and never arrive. What comes later has a gap before it, so end the connection
    /// rather than let it pass.
    Discard,
    /// The next bytes never arrive, and the connection is cut both ways instead: in direction
    /// [`ToClient`](Direction::ToClient), a request was done and its reply is lost.
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
    /// The same fault both ways; `both(Fault::Hold)` is a black hole.
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

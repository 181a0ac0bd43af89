//! How badly the network of a simulation works.

/// How often the network fails, of 1,000 messages each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conditions {
    /// Messages that are lost.
    pub lost: u64,
    /// Requests that arrive after their client has given them up, or once more.
    pub late: u64,
    /// Messages that take up to a quarter of a second.
    pub slow: u64,
}

impl Conditions {
    /// No failures and no delays.
    pub const PERFECT: Self = Self {
        lost: 0,
        late: 0,
        slow: 0,
    };

    /// Each kind of failure.
    pub const BAD: Self = Self {
        lost: 40,
        late: 20,
        slow: 30,
    };

    /// Lost and slow messages: a grant may come after its caller has gone, and nothing may be left behind.
    pub const SLOW: Self = Self {
        lost: 40,
        late: 0,
        slow: 100,
    };

    /// Lost messages alone: nothing arrives late, so nothing may be left behind.
    pub const LOSSY: Self = Self {
        lost: 80,
        late: 0,
        slow: 0,
    };
}

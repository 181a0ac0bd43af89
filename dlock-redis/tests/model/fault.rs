//! Faults of a walk.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Cut,
    Pause,
    Flush,
    CounterLost,
    RecordLost,
    Restart,
    Failover,
    RoleChange,
    /// A promoted server had no replica for long.
    PromotionForgotten,
    Foreign,
    LockLost,
    PutBack,
    CutOff,
    ClockSet,
}

impl Fault {
    pub(crate) const ALL: [Self; 14] = [
        Self::Cut,
        Self::Pause,
        Self::Flush,
        Self::CounterLost,
        Self::RecordLost,
        Self::Restart,
        Self::Failover,
        Self::RoleChange,
        Self::PromotionForgotten,
        Self::Foreign,
        Self::LockLost,
        Self::PutBack,
        Self::CutOff,
        Self::ClockSet,
    ];
}

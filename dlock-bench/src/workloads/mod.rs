//! The workloads that are not in the rounds: each needs the store for itself for some seconds.

mod contention;
mod held;
mod steady;
mod takeover;

pub use self::contention::jain;
pub(crate) use self::{contention::contention, held::held, steady::steady, takeover::takeover};

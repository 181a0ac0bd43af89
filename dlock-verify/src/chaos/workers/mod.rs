//! The workers of a run as their parent sees them: processes, proxies, and what they report.

mod armed;
mod counts;
mod observer;
mod pool;

pub(super) use self::{armed::Occasion, observer::Observer};
pub use self::{counts::Counts, pool::Workers};

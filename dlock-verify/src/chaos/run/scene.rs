//! The state that the parts of a run share.

use std::sync::Arc;

use dlock_core::{Clock, Locker};

use super::bites::Ledger;
use crate::chaos::{
    fault::{Deal, Fault},
    lag::Watchdog,
    target::Target,
    workers::{Observer, Workers},
};

/// The state that the parts of a run share.
pub(super) struct Scene {
    pub(super) target: Arc<dyn Target>,
    pub(super) faults: Vec<Arc<dyn Fault>>,
    pub(super) names: Vec<String>,
    pub(super) observer: Arc<Observer>,
    pub(super) workers: Arc<Workers>,
    pub(super) ledger: Ledger,
    pub(super) watchdog: Watchdog,
    pub(super) clock: Clock,
    pub(super) witness: Locker,
    pub(super) deal: Deal,
}

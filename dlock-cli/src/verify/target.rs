//! The user's store as a target of the suite: paced, and with lock names of its own.

use std::sync::Arc;

use async_trait::async_trait;
use conformance_tests::{Load, Target};
use dlock::{
    Capabilities, Clock, Error, Result,
    backend::DistributedLock,
    config::{Config, Registry},
};

use super::{
    names::Names,
    pace::Pace,
    paced::{Meter, Paced},
};

/// The store of a URL, for the cases of one clause.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) registry: Registry,
    pub(crate) config: Config,
    pub(crate) capabilities: Capabilities,
    /// Whether a store inside this one keeps its locks as files.
    pub(crate) has_files: bool,
    /// The beginning of all lock names.
    pub(crate) names: String,
    /// The names that were locked.
    pub(crate) used: Arc<Names>,
    pub(crate) pace: Arc<Pace>,
    pub(crate) meter: Arc<Meter>,
}

#[async_trait]
impl Target for Subject {
    fn name(&self) -> &str {
        self.capabilities.backend
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn address(&self) -> Result<String> {
        // Its connections do not need one.
        Ok(self.config.to_string())
    }

    async fn connect(&self, _: &str) -> Result<Box<dyn DistributedLock>> {
        self.pace.turn().await;
        let clock = Clock::boottime();
        let connect = self.meter.connect(&clock);
        let opened = self.registry.open(&self.config).await;
        connect.ended(&opened);
        // A first lock was granted by this URL.
        let opened = opened.map_err(Error::without_url_hint);
        let failed = |error: &Error| self.meter.failed(clock.now(), error);
        let (inner, _) = opened.inspect_err(failed)?;
        let (pace, meter) = (self.pace.clone(), self.meter.clone());
        let paced = Paced::new(inner, pace, meter).for_cases(self.used.clone());
        Ok(Box::new(paced))
    }

    fn load(&self) -> Load {
        Load::Gentle
    }

    fn lost_locks_stay(&self) -> bool {
        self.has_files
    }

    fn names(&self) -> &str {
        &self.names
    }
}

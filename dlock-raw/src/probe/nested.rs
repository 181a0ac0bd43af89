//! The settings of all stores that a store is made of.

use std::{future::Future, pin::Pin};

use dlock_core::{Result, config::Config};

use super::{report::Report, stores};
use crate::nested::parts;

type Probing<'a> = Pin<Box<dyn Future<Output = Result<Report>> + Send + 'a>>;

/// Reads the settings of each, one after another.
pub(super) fn probe(config: &Config) -> Probing<'_> {
    Box::pin(async move {
        let mut all = Report::default();
        for part in parts(config)? {
            let report = stores::probe(&part.config).await?;
            all.about.join(&report.about);
            all.evictions = all.evictions.max(report.evictions);
            all.add(report);
        }
        Ok(all)
    })
}

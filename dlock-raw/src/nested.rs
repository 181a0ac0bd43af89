//! Stores that are made of other stores.

use dlock_core::{
    Result,
    config::{Config, Settings},
};

/// A store inside another one, with its name there.
pub(crate) struct Part {
    pub(crate) label: &'static str,
    pub(crate) config: Config,
}

/// The stores of a `migrate:` URL, in the order in which locks are taken.
///
/// # Errors
///
/// `InvalidConfig` for a URL that dlock refuses.
pub(crate) fn parts(config: &Config) -> Result<Vec<Part>> {
    let mut settings = Settings::of(config)?;
    let mut parts = Vec::new();
    for (key, label) in [("from", "old"), ("to", "new")] {
        let config = settings.take_store(key)?;
        parts.extend(config.map(|config| Part { label, config }));
    }
    Ok(parts)
}

//! The registry of URL schemes and the backends behind them.

use std::{collections::BTreeMap, fmt, future::Future, pin::Pin, sync::Arc};

use super::{
    configuration::Config,
    connect_wait::ConnectWait,
    settings::{CommonSettings, Settings},
    suggest::suggest_scheme,
};
use crate::{
    backend::{distributed_lock::DistributedLock, migration::Migration},
    base::error::{Error, Result},
    client::locker::Locker,
    engine::migration_reading::Reading,
};

/// A backend that is being opened: the part of a factory that talks to the store.
pub type ConnectFuture = Pin<Box<dyn Future<Output = Result<Box<dyn DistributedLock>>> + Send>>;

type Factory = Arc<dyn Fn(&mut Settings) -> Result<ConnectFuture> + Send + Sync>;

/// The backends that a URL can name, by scheme.
///
/// A plain value: tests, and programs with backends of their own, make another one. A clone has the same backends.
///
/// ```
/// use dlock_core::{config::{Config, Registry}, memory::Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// let registry = Registry::new().register("table", |settings| {
///     // Settings are read here, before any I/O; what is left over is an error.
///     let rows = settings.take_u64("rows", 1..=1000)?.unwrap_or(100);
///     println!("a table of {rows} rows");
///     Ok(Box::pin(async { Ok(Box::new(Memory::new()) as _) }))
/// });
/// let locks = registry.connect(&Config::from_url("table:?rows=10&ttl=20s")?).await?;
/// assert!(locks.acquire("seat/14C").await?.is_held());
///
/// let wrong = Config::from_url("table:?row=10")?;
/// let error = registry.connect(&wrong).await.unwrap_err();
/// assert!(error.to_string().contains("did you mean \"rows\"?"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    entries: BTreeMap<&'static str, Entry>,
}

#[derive(Clone)]
enum Entry {
    Present(Factory),
    /// A known backend that this program was built without.
    Missing {
        feature: &'static str,
    },
}

/// The use of a store that is opened.
#[derive(Clone, Copy)]
enum Use {
    /// By a locker, which takes its locks there alone.
    Alone,
    /// By a layer, or by a caller who decides that.
    AsPart,
}

impl Registry {
    /// Makes a registry without backends.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend, in the place of another one with the same scheme.
    ///
    /// `factory` reads its settings at once and returns a future that opens the store. Between the
    /// two the registry has refused what was not taken, so bad settings never cause I/O (K11).
    #[must_use]
    pub fn register(
        mut self,
        scheme: &'static str,
        factory: impl Fn(&mut Settings) -> Result<ConnectFuture> + Send + Sync + 'static,
    ) -> Self {
        self.entries
            .insert(scheme, Entry::Present(Arc::new(factory)));
        self
    }

    /// Adds a backend that was left out when the program was built, so that its users read which
    /// cargo feature of `dlock` to turn on.
    #[must_use]
    pub fn register_disabled(mut self, scheme: &'static str, feature: &'static str) -> Self {
        self.entries.insert(scheme, Entry::Missing { feature });
        self
    }

    /// Removes the backend of `scheme`, which this program cannot use.
    #[must_use]
    pub fn without(mut self, scheme: &str) -> Self {
        self.entries.remove(scheme);
        self
    }

    /// The schemes that can be opened, in alphabetical order.
    pub fn schemes(&self) -> impl Iterator<Item = &'static str> {
        let present = |entry: &Entry| matches!(entry, Entry::Present(_));
        let entries = self.entries.iter();
        entries
            .filter(move |(_, entry)| present(entry))
            .map(|(scheme, _)| *scheme)
    }

    /// Opens the store that `config` names.
    ///
    /// A store that cannot be reached is tried again for as long as the key `connect_wait` says, with pauses of up to
    /// [`Backoff::MAX`](crate::toolkit::Backoff::MAX). Each try has the time-out of the backend, so the last one may
    /// end later. The wait is reported once, as a warning of the target `dlock_core::waiting`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, before any I/O, for an unknown scheme, for one that was left out of this program, and for wrong
    /// settings. `Unavailable` if the store cannot be reached in time. `Denied` and others at once, as a store that
    /// refuses a login or a setting would refuse it again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops what was opened so far.
    pub async fn open(
        &self,
        config: &Config,
    ) -> Result<(Box<dyn DistributedLock>, CommonSettings)> {
        let (backend, common, _) = self.open_as(config, Use::AsPart).await?;
        Ok((backend, common))
    }

    /// Opens the store; for a locker of its own with the record of a migration, which is read in the same try.
    async fn open_as(
        &self,
        config: &Config,
        used: Use,
    ) -> Result<(Box<dyn DistributedLock>, CommonSettings, Option<Reading>)> {
        let (scheme, mut opening, common) = self.prepare(config)?;
        if let Some(warning) = config.warning() {
            tracing::warn!("{warning}");
        }
        let mut wait = ConnectWait::begin(common.connect_wait.unwrap_or_default());
        loop {
            let trial = async {
                let backend = opening.await?;
                let base = common.token_base.unwrap_or(0);
                let reading = match used {
                    Use::Alone => check_migration(&*backend, base).await?,
                    Use::AsPart => None,
                };
                Ok((backend, reading))
            };
            match wait.watch(trial).await {
                Ok((backend, reading)) => return Ok((backend, common, reading)),
                Err(error) => wait.before_next(in_context(error, scheme)).await?,
            }
            (_, opening, _) = self.prepare(config)?;
        }
    }

    /// Checks the settings of `config` without any I/O, as [`open`](Self::open) does first.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, as [`Registry::open`].
    pub fn check(&self, config: &Config) -> Result<()> {
        self.prepare(config).map(drop)
    }

    /// Opens the store that `config` names and makes a locker of it, with its `ttl`, `wait` and
    /// `token_base`.
    ///
    /// Reads the [record of a migration](crate::backend::Migration), if the store can keep one, and then every 10 s while
    /// the locker is in use. A locker whose locks move later loses them with [`Moved`](crate::LostCause::Moved).
    ///
    /// # Errors
    ///
    /// As [`Registry::open`]; also when the ttl is outside the bounds of the backend. `InvalidConfig` for a store whose
    /// locks have moved to another one, or that locks are moving to, and for a `token_base` below that of a migration
    /// to this store.
    ///
    /// # Cancel safety
    ///
    /// As [`Registry::open`].
    pub async fn connect(&self, config: &Config) -> Result<Locker> {
        let (backend, common, reading) = self.open_as(config, Use::Alone).await?;
        let mut locker = Locker::builder(backend).watch_migration(reading);
        if let Some(ttl) = common.ttl {
            locker = locker.ttl(ttl);
        }
        if let Some(wait) = common.wait {
            locker = locker.wait(wait);
        }
        if let Some(base) = common.token_base {
            locker = locker.token_base(base);
        }
        locker.build()
    }

    /// The future that opens the store, from settings that are right.
    fn prepare(&self, config: &Config) -> Result<(&'static str, ConnectFuture, CommonSettings)> {
        let (scheme, factory) = self.find(config)?;
        let in_context = |error| in_context(error, scheme);
        let mut settings = Settings::of(config).map_err(in_context)?;
        let opening = factory(&mut settings).map_err(in_context)?;
        // Afterwards: a store that is made of others takes over what they have.
        let common = settings.common().clone();
        settings.finish().map_err(in_context)?;
        Ok((scheme, opening, common))
    }

    fn find(&self, config: &Config) -> Result<(&'static str, &Factory)> {
        let (scheme, source) = (config.url().scheme(), config.source());
        match self.entries.get_key_value(scheme) {
            Some((scheme, Entry::Present(factory))) => Ok((scheme, factory)),
            Some((scheme, Entry::Missing { feature })) => Err(source.invalid(format!(
                "{scheme}: is not built in; turn on the cargo feature {feature:?} of dlock"
            ))),
            None => {
                let known: Vec<_> = self.entries.keys().copied().collect();
                let hint = suggest_scheme(scheme, config.url().path(), &known);
                let known = known.join(", ");
                Err(source.invalid(format!("unknown scheme {scheme:?}{hint}; known: {known}")))
            }
        }
    }
}

/// Refuses a store that must not be used alone. Returns what it has read, if the store can keep a record.
async fn check_migration(
    backend: &dyn DistributedLock,
    token_base: u64,
) -> Result<Option<Reading>> {
    let Some(record) = backend.migration_record() else {
        return Ok(None);
    };
    let sent = backend.clock().now();
    let record = record.read().await?;
    if let Some(text) = &record {
        text.parse::<Migration>()?.check_alone(token_base)?;
    }
    Ok(Some(Reading { sent, record }))
}

fn in_context(error: Error, scheme: &'static str) -> Error {
    error.in_context("connect", scheme, None)
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

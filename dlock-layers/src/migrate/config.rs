//! The settings of a migration: `migrate:?from=URL&to=URL`.

use dlock_core::{
    ErrorKind, Result,
    config::{CommonSettings, Config, ConnectFuture, Registry, Settings},
};

use super::{backend::MigrateLock, status::Records, steps::Steps, stores::Store};
use crate::schemes::{MIGRATE, is_quorum};

const FROM: &str = "from";
const TO: &str = "to";

/// Adds the scheme `migrate` for the stores that `registry` has.
#[must_use]
pub fn register(registry: Registry) -> Registry {
    let stores = registry.clone();
    registry.register(MIGRATE, move |settings| open(&stores, settings))
}

/// A store in the settings, which are checked.
struct Nested {
    config: Config,
    common: CommonSettings,
}

fn open(stores: &Registry, settings: &mut Settings) -> Result<ConnectFuture> {
    let (from, to) = both(stores, settings)?;
    settings.inherit(&to.common);
    let stores = stores.clone();
    Ok(Box::pin(async move {
        let (old, new) = tokio::join!(connect(&stores, &from), connect(&stores, &to));
        let new = new?;
        let opened = match old {
            Ok(old) => MigrateLock::open(old, new.clone()).await,
            Err(error) => Err(error),
        };
        let opened = match opened {
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Denied) => {
                MigrateLock::open_without_old(new, error).await
            }
            opened => opened,
        };
        opened.map(|lock| Box::new(lock) as _)
    }))
}

/// Opens both stores of the `migrate:` URL in `config`, for the steps of an operator.
///
/// ```
/// use dlock_core::{Result, config::{Config, Registry}};
/// use dlock_layers::migrate::open_steps;
///
/// async fn start(stores: &Registry) -> Result<()> {
///     let config = Config::from_url("migrate:?from=env:OLD_URL&to=env:NEW_URL")?;
///     open_steps(stores, &config).await?.start().await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// `InvalidConfig`, before any I/O, for settings that are wrong. `Unavailable`, `Denied` and others as they come.
///
/// # Cancel safety
///
/// Dropping the future drops what was opened.
pub async fn open_steps(stores: &Registry, config: &Config) -> Result<Steps> {
    let mut settings = Settings::of(config)?;
    let (from, to) = both(stores, &mut settings)?;
    let (old, new) = tokio::try_join!(connect(stores, &from), connect(stores, &to))?;
    Steps::new(old, new, from.config.to_string(), to.config.to_string())
}

/// Reads the records of both stores of the `migrate:` URL in `config`, also if only one of them answers.
///
/// # Errors
///
/// `InvalidConfig`, before any I/O, for settings that are wrong.
///
/// # Cancel safety
///
/// Dropping the future drops what was opened.
pub async fn read_records(stores: &Registry, config: &Config) -> Result<Records> {
    let mut settings = Settings::of(config)?;
    let (from, to) = both(stores, &mut settings)?;
    let record = async |of: &Nested| connect(stores, of).await?.migration().await;
    let (old, new) = tokio::join!(record(&from), record(&to));
    Ok(Records { old, new })
}

/// Reads the settings of both stores, without I/O.
fn both(stores: &Registry, settings: &mut Settings) -> Result<(Nested, Nested)> {
    if settings.common().token_base.is_some() {
        let why = "token_base belongs to the stores: write it in from= and to=, as programs that use one store have it";
        return Err(settings.invalid(why));
    }
    let from = nested(stores, settings, FROM)?;
    let to = nested(stores, settings, TO)?;
    if is_same(&from.config, &to.config) {
        return Err(settings.invalid(format!(
            "from= and to= are the same store, {}; give another store, or another prefix=",
            to.config
        )));
    }
    Ok((from, to))
}

/// The configurations of both stores, each with its name.
pub(crate) fn stores(settings: &mut Settings) -> Result<[(&'static str, Config); 2]> {
    let (old, new) = (store(settings, FROM)?, store(settings, TO)?);
    Ok([("old", old), ("new", new)])
}

fn store(settings: &mut Settings, key: &'static str) -> Result<Config> {
    settings.take_store(key)?.ok_or_else(|| {
        settings.invalid(format!(
            "{key}= is missing, as in migrate:?from=redis://db-1&to=etcd://etcd-1?token_base=9007199254740992"
        ))
    })
}

/// Reads the settings of one of the stores, without I/O.
fn nested(stores: &Registry, settings: &mut Settings, key: &'static str) -> Result<Nested> {
    let config = store(settings, key)?;
    let scheme = config.url().scheme();
    if scheme == MIGRATE {
        return Err(settings.invalid(format!(
            "{key}={config} is a migration itself; end that one first, and give one of its stores"
        )));
    }
    if is_quorum(scheme) {
        return Err(settings.invalid(format!(
            "{key}={config} is made of other stores and keeps no record of a migration; its programs have to be stopped \
             for a move"
        )));
    }
    stores.check(&config)?;
    let common = Settings::of(&config)?.common().clone();
    Ok(Nested { config, common })
}

async fn connect(stores: &Registry, nested: &Nested) -> Result<Store> {
    let (backend, common) = stores.open(&nested.config).await?;
    Ok(Store::new(backend, common.token_base.unwrap_or(0)))
}

/// Whether both URLs have the same servers, path and prefix.
fn is_same(from: &Config, to: &Config) -> bool {
    let place = |config: &Config| {
        let url = config.url();
        let (scheme, prefix) = (
            url.scheme().to_owned(),
            url.param("prefix").map(str::to_owned),
        );
        (scheme, url.hosts().to_vec(), url.path().to_owned(), prefix)
    };
    place(from) == place(to)
}

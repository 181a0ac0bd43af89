//! Finds the store that the command line names, and connects to it.

use std::{env, time::Duration};

use dlock::{
    Locker,
    config::{Config, Discovery, Registry, Source, URL_VARIABLE},
};

use crate::{
    base::{duration, exit::Failure, output::say},
    cli::args::Global,
};

/// The scheme of the store that only one process has. The program is started again and again.
pub(crate) const MEMORY: &str = "memory";

/// The line without which hosts with a forgotten URL would all run a job, each under a lock of its own.
const NOT_NAMED: &str = "no store is configured: locks are files of this user, and exclude no other host; set --url, \
                         DLOCK_URL, dlock.toml or /etc/dlock.toml (--url file: for these locks)";

/// The `DLOCK_URL` of a command from which `dlock run` withholds its own. It names no store, so that a dlock in the
/// command fails. Without one it would lock in files, where no other host sees it.
pub(crate) const WITHHELD: &str = "withheld:";

/// A store that is configured but not connected yet.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    config: Config,
    registry: Registry,
}

impl Store {
    /// The ttl where neither the command line nor the configuration says one: several renewals can
    /// fail within it, and a dead machine blocks no longer.
    const TTL_DEFAULT: Duration = Duration::from_secs(30);

    /// Finds it as the user said: arguments, environment, file, default. Reports that it is the default.
    pub(crate) fn find(registry: &Registry, global: &Global) -> Result<Self, Failure> {
        Self::find_or(registry, global, None)
    }

    /// Finds the store like [`find`](Self::find), unless the user named one as an argument.
    pub(crate) fn find_or(
        registry: &Registry,
        global: &Global,
        named: Option<&str>,
    ) -> Result<Self, Failure> {
        let config = discover(global, named)?;
        if *config.source() == Source::Default {
            say(NOT_NAMED);
        }
        if *config.source() == Source::Argument && config.url().has_secret() {
            say(
                "every user of this machine can see the password of that URL in the list of processes; use \
                 password_file=, password_env= or DLOCK_URL",
            );
        }
        // With --verbose the connecting logs it.
        if let Some(warning) = config.warning().filter(|_| global.verbose == 0) {
            say(&warning);
        }
        let store = Self::checked(registry, config)?;
        let config = &store.config;
        tracing::info!("the store is {config}, from {}", config.source());
        Ok(store)
    }

    /// Finds the store of a further process, whose first process has reported it.
    pub(crate) fn of_worker(registry: &Registry, global: &Global) -> Result<Self, Failure> {
        Ok(Self {
            config: discover(global, None)?,
            registry: registry.clone(),
        })
    }

    /// The stores at `urls`, or the configured one if there is none. The settings of each are right.
    pub(crate) fn all(
        registry: &Registry,
        global: &Global,
        urls: &[String],
    ) -> Result<Vec<Self>, Failure> {
        if urls.is_empty() {
            return Ok(vec![Self::find(registry, global)?]);
        }
        if global.url.is_some() || global.config.is_some() {
            let why = "stores are given twice; give them as arguments, or with --url or --config";
            return Err(Failure::usage(why));
        }
        let store = |url: &String| Self::of_url(registry, url);
        urls.iter().map(store).collect()
    }

    /// The store at `url`, whose settings are right.
    pub(crate) fn of_url(registry: &Registry, url: &str) -> Result<Self, Failure> {
        let config = Config::from_url(url)?;
        refuse_memory(&config)?;
        Self::checked(registry, config)
    }

    /// The store of `config`, whose settings have to be right.
    fn checked(registry: &Registry, config: Config) -> Result<Self, Failure> {
        registry.check(&config)?;
        Ok(Self {
            config,
            registry: registry.clone(),
        })
    }

    /// The configuration that was found.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The ttl of its locks. One that is wrong is reported by [`connect`](Self::connect).
    pub(crate) fn ttl(&self) -> Duration {
        let configured = self
            .config
            .url()
            .param("ttl")
            .and_then(|ttl| duration::parse(ttl).ok());
        configured.unwrap_or(Self::TTL_DEFAULT)
    }

    /// Sets a key of its URL, if the command line has a `time` for it.
    pub(crate) fn with(self, key: &str, time: Option<Duration>) -> Self {
        match time {
            Some(time) => Self {
                config: self
                    .config
                    .with_param(key, humantime::format_duration(time).to_string()),
                ..self
            },
            None => self,
        }
    }

    /// Connects to it.
    ///
    /// # Errors
    ///
    /// Wrong settings, before any I/O; what the store says.
    pub(crate) async fn connect(&self) -> Result<Locker, Failure> {
        Ok(self.registry.connect(&self.config).await?)
    }
}

fn discover(global: &Global, named: Option<&str>) -> Result<Config, Failure> {
    let discovery = Discovery::new()
        .url(named.or(global.url.as_deref()))
        .file(global.config.as_deref());
    let config = discovery.find()?;
    refuse_withheld(&config)?;
    refuse_memory(&config)?;
    Ok(config)
}

/// Refuses the URL in place of a withheld one.
fn refuse_withheld(config: &Config) -> Result<(), Failure> {
    if config.source() == &Source::Environment
        && env::var_os(URL_VARIABLE).is_some_and(|url| url == WITHHELD)
    {
        let why = "DLOCK_URL has a password, and dlock run withholds it from its command; give --keep-url to \
                   that dlock run, or use password_file= in the URL";
        return Err(Failure::usage(why));
    }
    Ok(())
}

/// Refuses the memory store: it is local to one process, and the program is started again and again.
fn refuse_memory(config: &Config) -> Result<(), Failure> {
    if config.url().scheme() == MEMORY {
        let why = "memory: locks exist in one process only and would exclude no other run; use file: or a server";
        return Err(Failure::usage(why));
    }
    Ok(())
}

//! The stores of a run.

use std::{ffi::OsStr, path::Path, process::Command};

use dlock::config::{Registry, URL_VARIABLE};
use dlock_bench::{Target, WorkerCommand};

use crate::{
    base::{
        exit::{Exit, Failure},
        output,
    },
    cli::args::{BENCH_WORKER, Bench, Global},
    store::Store,
};

/// The stores, and the servers that were started for them.
pub(super) struct Targets {
    #[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
    program: std::path::PathBuf,
    all: Vec<Target>,
    /// How many of them are the user's.
    given: usize,
    #[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
    _servers: Option<super::local::Servers>,
}

impl Targets {
    /// The stores that the user named, or the configured one.
    ///
    /// # Errors
    ///
    /// When one is configured wrongly, before any I/O.
    pub(super) fn given(
        registry: &Registry,
        global: &Global,
        args: &Bench,
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            let why = output::describe(&error);
            let why = format!("cannot find the dlock program itself: {why}");
            Failure::new(Exit::INTERNAL, why)
        })?;
        let is_configured = global.url.is_some() || global.config.is_some();
        if !args.urls.is_empty() && is_configured {
            let why = "stores are given twice; give them as arguments, or with --url or --config";
            return Err(Failure::usage(why));
        }
        let mut all = Vec::new();
        for url in &args.urls {
            all.push(of_url(registry, &program, url)?);
        }
        if args.urls.is_empty() && (is_configured || !args.local) {
            all.push(configured(registry, &program, global)?);
        }
        Ok(Self {
            #[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
            program,
            given: all.len(),
            all,
            #[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
            _servers: None,
        })
    }

    pub(super) fn all(&self) -> &[Target] {
        &self.all
    }

    /// Whether all stores were started for this run.
    pub(super) fn are_own(&self) -> bool {
        self.given == 0
    }

    /// Starts the servers of this machine, if they are to be measured.
    ///
    /// # Errors
    ///
    /// When there is none, or this program has no drivers for any.
    #[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
    pub(super) async fn start(mut self, registry: &Registry, local: bool) -> Result<Self, Failure> {
        if !local {
            return Ok(self);
        }
        let servers = super::local::Servers::start().await?;
        for (url, pid) in servers.stores() {
            self.all
                .push(of_url(registry, &self.program, &url)?.pid(pid));
        }
        self._servers = Some(servers);
        Ok(self)
    }

    /// As above, in a program without a driver.
    #[cfg(not(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk")))]
    pub(super) async fn start(self, _: &Registry, local: bool) -> Result<Self, Failure> {
        if local {
            let why = "--local has no server to start: this program was built without etcd, mysql, redis and zk";
            return Err(Failure::usage(why));
        }
        Ok(self)
    }
}

fn of_url(registry: &Registry, program: &Path, url: &str) -> Result<Target, Failure> {
    let config = Store::of_url(registry, url)?.config().clone();
    let (program, url) = (program.to_owned(), url.to_owned());
    let worker = WorkerCommand::new(move || {
        let mut command = worker(&program);
        // Not as an argument, which all users of the machine can read: it may hold a password.
        command.env(URL_VARIABLE, &url);
        command
    });
    Ok(Target::new(config, registry.clone(), worker))
}

fn configured(registry: &Registry, program: &Path, global: &Global) -> Result<Target, Failure> {
    let config = Store::find(registry, global)?.config().clone();
    let (program, url, file) = (
        program.to_owned(),
        global.url.clone(),
        global.config.clone(),
    );
    let worker = WorkerCommand::new(move || {
        // It finds the configured store in the same way.
        let mut command = worker(&program);
        if let Some(url) = &url {
            command.env(URL_VARIABLE, url);
        }
        if let Some(file) = &file {
            command.arg("--config").arg(file);
        }
        command
    });
    Ok(Target::new(config, registry.clone(), worker))
}

fn worker(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(OsStr::new(BENCH_WORKER));
    command
}

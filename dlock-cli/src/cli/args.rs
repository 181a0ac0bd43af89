//! The command line.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::Duration,
};

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use dlock::config::{CommonSettings, Registry};

pub(crate) use super::{
    bench::{Bench, BenchWorker},
    migrate::Migrate,
};
use crate::{
    base::duration,
    cli::{help, version},
    verify::bounds,
};

/// The hidden subcommand that is a further process of a benchmark.
pub(crate) const BENCH_WORKER: &str = "__bench-worker";

/// The hidden subcommand that is a worker of the faults.
pub(crate) const VERIFY_WORKER: &str = "__verify-worker";

/// Run a command while holding a lock, so that only one copy of it runs at a time.
#[derive(Debug, Parser)]
#[command(name = "dlock", version, after_help = help::flowing(help::EXAMPLES), max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) action: Action,
}

impl Args {
    /// Reads the command line. `--version` names the stores of `registry`.
    pub(crate) fn read(registry: &Registry, arguments: &[OsString]) -> Result<Self, clap::Error> {
        // clap keeps texts for the life of the process.
        let mut command = Self::command().version(&*version::text(registry).leak());
        let matches = command.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// The options of every subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// The store, such as redis://db-1 or file:/var/lock/app [default: DLOCK_URL, else the file that
    /// DLOCK_CONFIG names, else dlock.toml, else /etc/dlock.toml, else files in your home]
    #[arg(long, global = true, display_order = 100, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// The configuration file (TOML), in place of all other sources
    #[arg(
        long,
        global = true,
        display_order = 100,
        value_name = "FILE",
        conflicts_with = "url"
    )]
    pub(crate) config: Option<PathBuf>,

    /// Log to stderr: -v what dlock does, in words; -vv its traces; -vvv those of its drivers, too
    #[arg(short, long, global = true, display_order = 100, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The subcommands, each with a module of its own.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Wait for a lock, run a command while holding it, and exit with the command's code
    #[command(
        after_help = help::flowing(help::RUN),
        override_usage = "dlock run [OPTIONS] <NAME> -- <CMD>..."
    )]
    Run(Run),

    /// Show the holder of a lock
    #[command(after_help = help::flowing(help::INSPECT))]
    Inspect(Inspect),

    /// Create what a store needs before its first lock, such as the tables of a database
    #[command(after_help = help::flowing(help::SETUP))]
    Setup(Setup),

    /// Measure the speed of stores
    #[command(after_help = help::flowing(help::BENCH))]
    Bench(Bench),

    /// A further process of `bench`.
    #[command(name = BENCH_WORKER, hide = true)]
    BenchWorker(BenchWorker),

    /// Check what a store promises: its settings, the contract, and faults of clients
    #[command(after_help = help::flowing(help::VERIFY))]
    Verify(Verify),

    /// Move locks from one store to another while they are used
    #[command(after_help = help::flowing(help::MIGRATE))]
    Migrate(Migrate),

    /// Print the completion script for a shell
    #[command(after_help = help::flowing(help::COMPLETIONS))]
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Write the manual pages, one for each subcommand, into a directory
    #[command(after_help = help::flowing(help::MAN))]
    Man {
        /// The directory, which must exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Arguments of `dlock run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The lock's name: 1 to 255 bytes of UTF-8 without control characters
    #[arg(value_name = "NAME", required_unless_present = "named")]
    name: Option<OsString>,

    /// The lock's name, which may then begin with -
    #[arg(
        long = "name",
        value_name = "NAME",
        allow_hyphen_values = true,
        conflicts_with = "name"
    )]
    named: Option<OsString>,

    /// Time until the lock of a dead machine ends; dlock renews the lock while it runs [default: ttl= of
    /// the URL, else 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = duration::parse_positive)]
    pub(crate) ttl: Option<Duration>,

    #[command(flatten)]
    pub(crate) wait: WaitArgs,

    /// Say nothing about a lock that is taken, or about waiting; errors are still printed
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// If the lock is taken, exit with 0 instead of 75, and say nothing about that
    #[arg(long)]
    pub(crate) skip_ok: bool,

    /// Hold the lock for at least this long, also if the command has ended or failed; a signal ends that
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = duration::parse_positive)]
    pub(crate) at_least: Option<Duration>,

    /// If renewals fail, send TERM to the command this long before the lock ends; less than ttl/3
    /// [default: ttl/6, at most 10s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = duration::parse)]
    pub(crate) grace: Option<Duration>,

    /// A text that `dlock inspect` shows: up to 255 bytes without control characters
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) note: Option<String>,

    /// Give the command a DLOCK_URL with a password, too; without a password it is always given
    #[arg(long)]
    pub(crate) keep_url: bool,

    /// The command and its arguments, after --
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

impl Run {
    /// The lock's name, in either way that it can be given.
    pub(crate) fn name(&self) -> &OsStr {
        let given = self.name.as_deref().or(self.named.as_deref());
        given.unwrap_or_default()
    }

    /// Whether a lock that is taken is not worth a line.
    pub(crate) fn is_silent_if_taken(&self) -> bool {
        self.quiet || self.skip_ok
    }
}

/// The three options for waiting, of which at most one is given.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct WaitArgs {
    /// Maximum wait for the lock, and for a store that cannot be reached [default: for the lock wait= of the URL,
    /// else 30s, or 10s more than the restart guard of the store; for the store connect_wait= of the URL, else none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = duration::parse)]
    pub(crate) wait: Option<Duration>,

    /// Do not wait: exit with 75 if the lock is taken, with 69 if the store cannot be reached
    #[arg(long = "try")]
    pub(crate) never: bool,

    /// Wait for the lock without a time limit, and for a store that cannot be reached
    #[arg(long)]
    pub(crate) forever: bool,
}

impl WaitArgs {
    /// How long to wait, if the user said so with an end.
    pub(crate) fn time(&self) -> Option<Duration> {
        if self.never {
            Some(Duration::ZERO)
        } else {
            self.wait
        }
    }

    /// How long to wait for a store that cannot be reached, if the user said so.
    pub(crate) fn for_store(&self) -> Option<Duration> {
        let wait = if self.forever {
            Some(Duration::MAX)
        } else {
            self.time()
        };
        wait.map(|wait| wait.min(CommonSettings::WAIT_MAX))
    }
}

/// Arguments of `dlock inspect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Inspect {
    /// The lock's name; one that begins with - comes after --
    #[arg(value_name = "NAME")]
    pub(crate) name: OsString,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `dlock setup`.
#[derive(Debug, clap::Args)]
pub(crate) struct Setup {
    /// The store, such as mysql://app@db-1/locks [default: the configured one]
    #[arg(value_name = "URL", conflicts_with_all = ["url", "config"])]
    pub(crate) store: Option<String>,

    /// Print the statements for an administrator, without connecting
    #[arg(long)]
    pub(crate) print: bool,
}

/// Arguments of `dlock verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The stores, verified side by side [default: the configured one]
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,

    /// Duration of the verification, beside the wait for the first lock
    #[arg(long = "for", value_name = "TIME", default_value = bounds::RUN_FOR, allow_hyphen_values = true, value_parser = duration::parse_positive)]
    pub(crate) run_for: Duration,

    /// The same as --for 10s
    #[arg(long, conflicts_with = "run_for")]
    pub(crate) quick: bool,

    /// Inject no faults into the processes and connections of dlock
    #[arg(long)]
    pub(crate) no_faults: bool,

    /// Live with a finding, or with a clause that is unknown
    #[arg(long, value_name = "ID")]
    pub(crate) accept: Vec<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn waiting_is_said_in_one_way_only() {
        let parse = |args: &[&str]| Args::try_parse_from(args);
        assert!(parse(&["dlock", "run", "a", "--try", "--", "true"]).is_ok());
        assert!(parse(&["dlock", "run", "a", "--try", "--forever", "--", "true"]).is_err());
        assert!(parse(&["dlock", "run", "a", "--try", "--wait", "1s", "--", "true"]).is_err());
    }

    #[test]
    fn a_wait_for_the_lock_is_also_one_for_the_store() {
        for (args, wait) in [
            (&[][..], None),
            (&["--try"], Some(Duration::ZERO)),
            (&["--wait", "10m"], Some(Duration::from_secs(600))),
            (&["--wait", "90days"], Some(CommonSettings::WAIT_MAX)),
            (&["--forever"], Some(CommonSettings::WAIT_MAX)),
        ] {
            let line = ["dlock", "run", "a"]
                .iter()
                .chain(args)
                .chain(&["--", "true"]);
            let Action::Run(run) = Args::try_parse_from(line).expect("args").action else {
                panic!("not run: {args:?}")
            };
            assert_eq!(run.wait.for_store(), wait, "{args:?}");
        }
    }

    #[test]
    fn a_name_that_begins_with_a_dash_has_an_option() {
        let name = |args: &[&str]| match Args::try_parse_from(args).map(|args| args.action) {
            Ok(Action::Run(run)) => Some(run.name().to_owned()),
            _ => None,
        };
        for args in [
            &["dlock", "run", "--name", "-x", "--", "true"][..],
            &["dlock", "run", "--name=-x", "--try", "--", "true"],
        ] {
            assert_eq!(name(args).as_deref(), Some(OsStr::new("-x")));
        }
        assert_eq!(name(&["dlock", "run", "a", "--name", "b", "--", "x"]), None);
        assert_eq!(name(&["dlock", "run", "--", "true"]), None);
    }

    #[test]
    fn what_follows_the_dashes_is_the_commands() {
        let line = ["dlock", "run", "a", "--", "sh", "--try", "--", "--help"];
        let args = Args::try_parse_from(line).expect("args");
        let Action::Run(run) = args.action else {
            panic!("not run: {args:?}")
        };
        assert_eq!(run.command, ["sh", "--try", "--", "--help"]);
        assert!(!run.wait.never);
    }
}

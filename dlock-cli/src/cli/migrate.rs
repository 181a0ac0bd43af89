//! The command line of `dlock migrate`.

use clap::Subcommand;

/// Arguments of `dlock migrate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    #[command(subcommand)]
    pub(crate) step: Step,
}

/// The steps of a migration.
#[derive(Debug, Subcommand)]
pub(crate) enum Step {
    /// Print all steps, and the configuration of the programs, without connecting
    Plan(Stores),
    /// Begin: from now on programs can use both stores, and none may use NEW alone
    Start(Stores),
    /// Take a lock in both stores, as programs with migrate: do, and release it
    Check(Stores),
    /// Show how far the migration is
    Status(Stores),
    /// Make the new store the one that counts
    Switch(Switch),
    /// End a migration that was not switched: programs need OLD
    Cancel(Stores),
}

/// The two stores.
#[derive(Debug, clap::Args)]
pub(crate) struct Stores {
    /// The store that the locks are in; env:NAME for a URL in a variable
    #[arg(value_name = "OLD")]
    pub(crate) old: String,

    /// The store that they move to, with token_base= as `plan` prints it
    #[arg(value_name = "NEW")]
    pub(crate) new: String,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `dlock migrate switch`.
#[derive(Debug, clap::Args)]
pub(crate) struct Switch {
    #[command(flatten)]
    pub(crate) stores: Stores,

    /// No program uses the old store alone any more: no other client, and no dlock whose locks must not be lost
    #[arg(long)]
    pub(crate) no_others: bool,
}

impl Step {
    pub(crate) fn stores(&self) -> &Stores {
        match self {
            Self::Plan(stores)
            | Self::Start(stores)
            | Self::Check(stores)
            | Self::Status(stores)
            | Self::Cancel(stores) => stores,
            Self::Switch(switch) => &switch.stores,
        }
    }
}

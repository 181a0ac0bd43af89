//! A state: the records of both stores, and the commands that run.

/// The stage in a record, as `MigrationStage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    Leaving,
    Closed,
    Left,
    Arriving,
    Arrived,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Record {
    pub(crate) stage: Stage,
    /// The identity of the migration: the number of the command that began it.
    pub(crate) id: u8,
    /// The number of the command that wrote it.
    pub(crate) by: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Job {
    Start,
    Switch,
    Cancel,
}

/// The progress of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum At {
    /// So many of the records are read, the old store's first.
    Reading(u8),
    /// The old store's record is read once more.
    Checking,
    /// So many changes are made.
    Changing(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Command {
    pub(crate) job: Job,
    pub(crate) number: u8,
    /// The index of the store that the locks leave.
    pub(crate) old: usize,
    pub(crate) at: At,
    /// The records that it has read.
    pub(crate) in_old: Option<Record>,
    pub(crate) in_new: Option<Record>,
    /// The record that it has written in the old store.
    pub(crate) wrote: Option<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) records: [Option<Record>; 2],
    pub(crate) commands: [Option<Command>; 2],
    /// So many commands may begin still.
    pub(crate) left: u8,
}

impl Job {
    pub(crate) const ALL: [Self; 3] = [Self::Start, Self::Switch, Self::Cancel];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Start => "calls start",
            Self::Switch => "calls switch",
            Self::Cancel => "calls cancel",
        }
    }
}

impl Command {
    pub(crate) const fn new(job: Job, old: usize, number: u8) -> Self {
        Self {
            job,
            number,
            old,
            at: At::Reading(0),
            in_old: None,
            in_new: None,
            wrote: None,
        }
    }
}

impl State {
    pub(crate) const fn new(records: [Option<Record>; 2], commands: u8) -> Self {
        Self {
            records,
            commands: [None; 2],
            left: commands,
        }
    }

    /// Whether the records are as no order of commands may leave them: both stores are used alone, or none may be used.
    pub(crate) fn is_broken(&self) -> bool {
        // The locks of one store count, and the other one does not refuse programs that use it alone.
        let counts_beside = |one: usize| {
            let stage = |store: usize| self.records[store].map(|record| record.stage);
            // One without a record has lost it: no step takes it away.
            let refuses = matches!(
                stage(1 - one),
                None | Some(Stage::Closed | Stage::Left | Stage::Arriving)
            );
            stage(one) == Some(Stage::Arrived) && !refuses
        };
        let has_left = |record: Option<Record>| record.is_some_and(|it| it.stage == Stage::Left);
        counts_beside(0) || counts_beside(1) || self.records.into_iter().all(has_left)
    }
}

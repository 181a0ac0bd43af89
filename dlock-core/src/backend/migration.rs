//! The record of a migration: where the locks of a store are, or are about to be.

use std::{fmt, str::FromStr, time::Duration};

use async_trait::async_trait;

use crate::{
    backend::attempt_id::AttemptId,
    base::error::{Error, ErrorKind, Result},
};

/// A record that a store keeps for each prefix, beside its locks: the text of a [`Migration`].
///
/// An optional ability of a backend, returned by
/// [`DistributedLock::migration_record`](super::DistributedLock::migration_record). Both methods have time-outs of
/// their own, and are linearizable within the store's exceptions: a read sees each change that was confirmed before.
///
/// The key of the record is not that of any lock.
///
/// ```
/// use dlock_core::{Result, backend::{DistributedLock as _, MigrationRecord}, memory::Memory};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let store = Memory::new();
/// let record: &dyn MigrationRecord = store.migration_record().expect("a record");
/// assert!(record.compare_and_set(None, "first").await?);
/// assert!(!record.compare_and_set(None, "second").await?);
/// assert_eq!(record.read().await?.as_deref(), Some("first"));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait MigrationRecord: Send + Sync {
    /// Reads the record; `None` if there is none.
    ///
    /// # Errors
    ///
    /// `Unavailable`, `Denied` and others as they come.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    async fn read(&self) -> Result<Option<String>>;

    /// Writes `next` if the record is `expected`, in one step; whether it was.
    ///
    /// # Errors
    ///
    /// `Unavailable`, `Denied` and others as they come. With the effect `Unknown` the record may be written: read it.
    ///
    /// # Cancel safety
    ///
    /// The record may be written.
    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool>;
}

/// A migration, as one of its two stores knows it.
///
/// ```
/// use dlock_core::{AttemptId, backend::{Migration, MigrationStage}};
///
/// let migration = Migration {
///     stage: MigrationStage::Leaving,
///     id: AttemptId::from_u128(0xa1),
///     since_unix_micros: 1_780_000_000_000_000,
///     by: "4711@web-3".to_owned(),
///     other: "etcd://etcd-1".to_owned(),
///     token_base: 1_000_000,
///     own_base: 0,
/// };
/// let text = migration.to_string();
/// assert_eq!(text, "leaving 000000000000000000000000000000a1 1780000000000000 4711@web-3 etcd://etcd-1 1000000 0");
/// assert_eq!(text.parse::<Migration>()?, migration);
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "it is a line of the layout: another field is another layout"
)]
pub struct Migration {
    /// The stage that this store knows.
    pub stage: MigrationStage,
    /// The identity of the migration, the same in both stores.
    pub id: AttemptId,
    /// When this stage was written, in microseconds since 1970, by the clock of the machine that wrote it.
    pub since_unix_micros: u64,
    /// The process that wrote it, as `PID@HOST`. Without spaces.
    pub by: String,
    /// The URL of the other store, without secrets and spaces; at most [`Migration::OTHER_BYTES_MAX`].
    pub other: String,
    /// The `token_base` of the new store, in all programs (K5).
    pub token_base: u64,
    /// The `token_base` that this store had before the migration, in all programs (K5).
    pub own_base: u64,
}

/// The stage of a migration in one of its two stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MigrationStage {
    /// The old store: its locks count, and processes may take both.
    Leaving,
    /// The old store: processes that take it alone are refused, the switch is near.
    Closed,
    /// The old store: its locks count no longer.
    Left,
    /// The new store: its locks do not count yet.
    Arriving,
    /// The new store: its locks count.
    Arrived,
    /// Either store: the migration was cancelled.
    Cancelled,
}

impl Migration {
    /// The longest [`other`](Self::other), in bytes.
    pub const OTHER_BYTES_MAX: usize = 800;

    /// 30 s from the request for a reading that found the old store open. During a migration a process that uses that
    /// store alone grants and holds locks for so long, and reads every 10 s. One that uses both stores counts on the old
    /// one for so long.
    pub const READ_VALID: Duration = Duration::from_secs(30);

    /// 31 s: how long the switch waits after it has closed the old store, also if no process uses that alone.
    /// [`READ_VALID`](Self::READ_VALID), and room for clocks that run at different speeds.
    pub const CLOSE_WAIT: Duration = Duration::from_secs(31);

    /// Refuses a process that takes its locks in this store alone, with `token_base`, where that would make two holders
    /// or a token that is too small.
    ///
    /// # Errors
    ///
    /// `InvalidConfig`, which says what to configure.
    pub fn check_alone(&self, token_base: u64) -> Result<()> {
        let (stage, other) = (self.stage, &self.other);
        let least = match stage {
            MigrationStage::Arrived => self.token_base,
            _ => self.own_base,
        };
        let why = match stage {
            MigrationStage::Arrived if token_base < least => format!(
                "locks have moved to this store from {other}, and token_base={token_base} would make their tokens smaller: \
                 use token_base={least}"
            ),
            MigrationStage::Leaving | MigrationStage::Cancelled if token_base < least => format!(
                "the tokens of this store have token_base={least}, and token_base={token_base} would make them smaller: use \
                 token_base={least}"
            ),
            MigrationStage::Leaving | MigrationStage::Arrived | MigrationStage::Cancelled => {
                return Ok(());
            }
            MigrationStage::Arriving => format!(
                "locks move to this store from {other}, where they still count: use migrate:?from=…&to=… until \
                 \"dlock migrate switch\" is done"
            ),
            MigrationStage::Closed => format!(
                "locks move from this store to {other}, and it is closed to processes that use it alone: use \
                 migrate:?from=…&to=…"
            ),
            MigrationStage::Left => {
                format!("the locks of this store have moved to {other}: use that URL")
            }
        };
        Err(Error::new(ErrorKind::InvalidConfig, why))
    }
}

impl MigrationStage {
    const ALL: [Self; 6] = [
        Self::Leaving,
        Self::Closed,
        Self::Left,
        Self::Arriving,
        Self::Arrived,
        Self::Cancelled,
    ];

    /// The word in the record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Leaving => "leaving",
            Self::Closed => "closed",
            Self::Left => "left",
            Self::Arriving => "arriving",
            Self::Arrived => "arrived",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for MigrationStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stage,
            id,
            since_unix_micros,
            by,
            other,
            token_base,
            own_base,
        } = self;
        write!(
            f,
            "{stage} {id} {since_unix_micros} {by} {other} {token_base} {own_base}"
        )
    }
}

impl FromStr for Migration {
    type Err = Error;

    /// Reads what `Display` writes. More words at the end are ignored: a later release may write them.
    fn from_str(text: &str) -> Result<Self> {
        parse(text).ok_or_else(|| {
            let why =
                format!("the record of a migration is {text:?}, which this release cannot read");
            Error::new(ErrorKind::InvalidConfig, why)
        })
    }
}

fn parse(text: &str) -> Option<Migration> {
    let mut words = text.split(' ');
    let stage = words.next()?;
    Some(Migration {
        stage: MigrationStage::ALL
            .into_iter()
            .find(|known| known.as_str() == stage)?,
        id: words.next()?.parse().ok()?,
        since_unix_micros: words.next()?.parse().ok()?,
        by: words.next()?.to_owned(),
        other: words.next().filter(|other| !other.is_empty())?.to_owned(),
        token_base: words.next()?.parse().ok()?,
        own_base: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 1 << 53;

    fn at(stage: MigrationStage) -> Migration {
        Migration {
            stage,
            id: AttemptId::from_u128(7),
            since_unix_micros: 1_780_000_000_000_000,
            by: "4711@web-3".to_owned(),
            other: "etcd://etcd-1?prefix=a%20b".to_owned(),
            token_base: BASE,
            own_base: 0,
        }
    }

    #[test]
    fn each_stage_is_read_as_written() {
        for stage in MigrationStage::ALL {
            let written = at(stage).to_string();
            assert_eq!(written.parse::<Migration>().expect("its text"), at(stage));
            let later = format!("{written} word");
            assert_eq!(later.parse::<Migration>().expect("its text"), at(stage));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let id = AttemptId::from_u128(7);
        for text in [
            "",
            "leaving",
            &format!("gone {id} 1 1@a etcd://e 7 0"),
            &format!("leaving {id} 1 1@a"),
            &format!("leaving {id} 1 1@a  7 0"),
            &format!("leaving {id} 1 1@a etcd://e"),
            &format!("leaving {id} 1 1@a etcd://e x 0"),
            &format!("leaving {id} 1 1@a etcd://e 7"),
            &format!("leaving {id} 1 1@a etcd://e 7 x"),
            &format!("leaving {id} x 1@a etcd://e 7 0"),
            "leaving 7 1 1@a etcd://e 7 0",
        ] {
            let error = text.parse::<Migration>().expect_err(text);
            assert_eq!(error.kind(), ErrorKind::InvalidConfig);
            assert!(error.to_string().contains(text));
        }
    }

    #[test]
    fn a_process_with_one_store_is_refused_where_the_other_one_counts_too() {
        for (stage, says) in [
            (MigrationStage::Leaving, None),
            (MigrationStage::Arrived, None),
            (MigrationStage::Cancelled, None),
            (
                MigrationStage::Arriving,
                Some("move to this store from etcd://etcd-1"),
            ),
            (
                MigrationStage::Closed,
                Some("move from this store to etcd://etcd-1"),
            ),
            (MigrationStage::Left, Some("have moved to etcd://etcd-1")),
        ] {
            let refused = at(stage).check_alone(BASE).err();
            assert_eq!(refused.is_some(), says.is_some(), "{stage}");
            if let (Some(error), Some(says)) = (refused, says) {
                assert_eq!(error.kind(), ErrorKind::InvalidConfig);
                assert!(error.to_string().contains(says), "{error}");
            }
        }
    }

    #[test]
    fn a_token_base_that_is_too_small_is_refused_where_the_locks_have_arrived() {
        let arrived = at(MigrationStage::Arrived);
        assert!(arrived.check_alone(BASE + 1).is_ok());
        for small in [0, BASE - 1] {
            let error = arrived.check_alone(small).expect_err("too small");
            assert!(
                error
                    .to_string()
                    .contains(&format!("use token_base={BASE}")),
                "{error}"
            );
        }
        assert!(at(MigrationStage::Leaving).check_alone(0).is_ok());
    }

    #[test]
    fn a_store_that_has_had_a_token_base_needs_it_also_in_the_next_migration() {
        for stage in [MigrationStage::Leaving, MigrationStage::Cancelled] {
            let next = Migration {
                token_base: BASE * 2,
                own_base: BASE,
                ..at(stage)
            };
            assert!(next.check_alone(BASE).is_ok());
            let error = next.check_alone(0).expect_err("too small");
            assert!(
                error
                    .to_string()
                    .contains(&format!("use token_base={BASE}")),
                "{error}"
            );
        }
    }
}

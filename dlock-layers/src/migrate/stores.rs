//! The two stores, and their records of the migration.

use std::sync::Arc;

use dlock_core::{
    AttemptId, Error, ErrorKind, Fencing, Result,
    backend::{DistributedLock, Migration, MigrationRecord, MigrationStage},
};

/// One of the two stores of a migration.
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) backend: Arc<dyn DistributedLock>,
    pub(super) token_base: u64,
}

impl Store {
    /// A store whose tokens get `token_base` added: what programs that use it alone have configured.
    pub fn new(backend: impl DistributedLock, token_base: u64) -> Self {
        Self {
            backend: Arc::new(backend),
            token_base,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.backend.capabilities().backend
    }

    /// The record of a migration in this store.
    pub(super) fn record(&self) -> Result<&dyn MigrationRecord> {
        self.backend.migration_record().ok_or_else(|| {
            let why = "this store cannot keep the record of a migration, so its locks cannot move";
            self.in_context(Error::new(ErrorKind::Unsupported, why))
        })
    }

    /// Reads the record, if there is one.
    pub(super) async fn migration(&self) -> Result<Option<Migration>> {
        let text = self
            .record()?
            .read()
            .await
            .map_err(|error| self.in_context(error))?;
        text.map(|text| text.parse())
            .transpose()
            .map_err(|error| self.in_context(error))
    }

    /// Fails if the record cannot be written. Tries to replace one that is not there, which changes nothing.
    pub(super) async fn check_writable(&self) -> Result<()> {
        let other = AttemptId::random().to_string();
        let tried = self.record()?.compare_and_set(Some(&other), &other).await;
        let denied = |error: Error| match error.kind() {
            ErrorKind::Denied => {
                let why = "the record of a migration may not be written, so nothing was begun";
                Error::new(ErrorKind::Denied, why).with_source(error)
            }
            _ => error,
        };
        tried
            .map(drop)
            .map_err(|error| self.in_context(denied(error)))
    }

    pub(super) fn check_tokens(&self) -> Result<()> {
        if self.backend.capabilities().fencing == Fencing::Growing {
            return Ok(());
        }
        let why = "the tokens of this store do not grow, so its locks cannot move";
        Err(self.in_context(Error::new(ErrorKind::Unsupported, why)))
    }

    pub(super) fn in_context(&self, error: Error) -> Error {
        error.in_context("connect", self.name(), None)
    }
}

/// The refusal of a `token_base` that is not the one of the store in the migration (K5).
pub(super) fn other_base(token_base: u64, begun_with: u64) -> Error {
    let why = format!(
        "this migration was begun with token_base={begun_with}, and token_base={token_base} is given; all programs need the \
         first one"
    );
    Error::new(ErrorKind::InvalidConfig, why)
}

/// The migration that has made this store the one that counts, if one has. Another `token_base` than its own is refused.
pub(super) async fn arrived(new: &Store) -> Result<Option<AttemptId>> {
    new.check_tokens()?;
    let found = new.migration().await?;
    let Some(found) = found.filter(|found| found.stage == MigrationStage::Arrived) else {
        return Ok(None);
    };
    if found.token_base != new.token_base {
        return Err(new.in_context(other_base(new.token_base, found.token_base)));
    }
    Ok(Some(found.id))
}

impl Store {
    /// Writes `next` if the record is still `from`; also when the reply is lost.
    pub(super) async fn advance(&self, from: Option<&Migration>, next: &Migration) -> Result<()> {
        let from = from.map(ToString::to_string);
        let set = self
            .record()?
            .compare_and_set(from.as_deref(), &next.to_string())
            .await;
        if matches!(set, Ok(true)) {
            return Ok(());
        }
        // An earlier try whose reply was lost may have written it. Written once more, so that it is as durable as
        // others.
        let text = next.to_string();
        if self.record()?.compare_and_set(Some(&text), &text).await? {
            return Ok(());
        }
        set.map_err(|error| self.in_context(error))?;
        Err(self.in_context(changed()))
    }
}

/// The refusal of a step at the same time as another one.
pub(super) fn changed() -> Error {
    let why = "the record of the migration was changed by another one at the same time; run \"dlock migrate status\"";
    Error::new(ErrorKind::InvalidConfig, why)
}

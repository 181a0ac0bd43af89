//! The step in which the locks move: the old store is closed, and then the new one counts.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::{Migration, MigrationStage},
};

use super::{
    closing::{Closed, Closing},
    steps::{Steps, own_base},
    stores::changed,
};

impl Steps {
    /// Closes the old store to programs that use it alone; also if that was done already. dlock refuses to connect to
    /// it alone. Programs that are connected read the record within 10 s, are granted no more, and keep their locks
    /// until 30 s after the last reading that found it open. Those with `migrate:` go on.
    ///
    /// [`switch_closed`](Self::switch_closed) follows after [`Closed::wait`].
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when the migration was not begun. Others as [`status`](Self::status).
    ///
    /// # Cancel safety
    ///
    /// The old store may be closed: call it again, or [`cancel`](Self::cancel) the migration.
    pub async fn close(&self) -> Result<Closed> {
        let closing = self.begin_closing(None).await?;
        let is_switched = closing.old.stage == MigrationStage::Left || closing.has_arrived();
        let wait = match is_switched {
            true => Duration::ZERO,
            false => Migration::CLOSE_WAIT,
        };
        Ok(Closed {
            old: closing.old,
            wait,
        })
    }

    /// As [`switch`](Self::switch), if the old store has stayed `closed` since [`close`](Self::close). Does not wait:
    /// with programs it is only safe after [`Closed::wait`].
    ///
    /// # Errors
    ///
    /// As [`switch`](Self::switch). `InvalidConfig` if the old store was open in the meantime: then close it again.
    ///
    /// # Cancel safety
    ///
    /// As [`switch`](Self::switch).
    pub async fn switch_closed(&self, closed: &Closed) -> Result<()> {
        let closing = self.begin_closing(Some(closed)).await?;
        self.finish(closing).await
    }

    /// Refuses an old store whose record is `now`, unless it is as [`close`](Self::close) has left it, or further.
    fn check_closed(&self, closed: &Closed, now: Option<&Migration>) -> Result<()> {
        let is_further =
            |now: &Migration| now.stage == MigrationStage::Left && now.id == closed.old.id;
        if now.is_some_and(|now| *now == closed.old || is_further(now)) {
            return Ok(());
        }
        let why = "the old store was open in the meantime, so programs may use it alone; run \"dlock migrate switch\" again";
        let refusal = Error::new(ErrorKind::InvalidConfig, why);
        Err(self.old.in_context(refusal))
    }

    /// Makes the new store the one that counts; also if that was begun or done already. Takes
    /// [`Migration::CLOSE_WAIT`], or nothing if the switch was done. In this time programs go on with both stores:
    /// [`close`](Self::close), a wait, and [`switch_closed`](Self::switch_closed).
    ///
    /// # Errors
    ///
    /// `InvalidConfig` when the migration was not begun. Others as [`status`](Self::status).
    ///
    /// # Cancel safety
    ///
    /// The old store may be closed, or the switch done: call it again.
    pub async fn switch(&self) -> Result<()> {
        let closed = self.close().await?;
        tokio::time::sleep(closed.wait()).await;
        self.switch_closed(&closed).await
    }

    async fn finish(&self, closing: Closing) -> Result<()> {
        use MigrationStage::{Arrived, Left};
        let has_arrived = closing.has_arrived();
        let Closing { id, old, new } = closing;
        if !has_arrived {
            // The one moment of the switch.
            let arrived = self.record(Arrived, id, &self.old_url, own_base(new.as_ref()));
            self.new.advance(new.as_ref(), &arrived).await?;
        }
        if old.stage != Left {
            let left = self.record(Left, id, &self.new_url, old.own_base);
            self.old.advance(Some(&old), &left).await?;
        }
        Ok(())
    }

    /// Closes the old store, unless the switch has gone on from there, or it is not as it was left when it was `closed`.
    async fn begin_closing(&self, closed: Option<&Closed>) -> Result<Closing> {
        use MigrationStage::{Arrived, Arriving, Cancelled, Closed, Leaving, Left};
        let status = self.status().await?;
        self.check_order(&status)?;
        if let Some(closed) = closed {
            self.check_closed(closed, status.old.as_ref())?;
        }
        if let Some(left) = self.restore(&status).await? {
            return Ok(Closing {
                id: left.id,
                old: left,
                new: status.new,
            });
        }
        let Some(old) = status.old.as_ref() else {
            return Err(self.none(&status));
        };
        let new = status.new.as_ref();
        if !self.is_with_new(old, new) {
            return Err(self.none(&status));
        }
        self.check_same_bases(old)?;
        let id = old.id;
        let of_this = new.filter(|new| new.id == id);
        let old = match (old.stage, of_this.map(|new| new.stage)) {
            (Leaving, Some(Arriving)) => {
                let closed = self.record(Closed, id, &self.new_url, old.own_base);
                self.old.advance(Some(old), &closed).await?;
                closed
            }
            // The last two: the new store has lost its record, or the last change of it.
            (Leaving | Closed | Left, Some(Arrived)) | (Closed | Left, None | Some(Arriving)) => {
                old.clone()
            }
            (Leaving | Closed, Some(Cancelled)) | (Cancelled, _) => return Err(self.cancelled()),
            _ => return Err(self.none(&status)),
        };
        if of_this.is_none() {
            self.check_lost(&old, new).await?;
        }
        Ok(Closing {
            id,
            old,
            new: status.new,
        })
    }

    /// Refuses a new store whose record is not of this migration because it was cancelled and another one was begun,
    /// rather than because the store has lost it. Both records were not read in one moment.
    async fn check_lost(&self, old: &Migration, new: Option<&Migration>) -> Result<()> {
        use MigrationStage::{Cancelled, Left};
        let is_older = |new: &Migration| matches!(new.stage, Cancelled | Left);
        if let Some(found) = new.filter(|new| !is_older(new)) {
            return Err(self.not_startable(&self.new, found, Some(old)));
        }
        // As it was when the other one was read. A cancellation from now on changes the new store first.
        if self.old.migration().await?.as_ref() == Some(old) {
            return Ok(());
        }
        Err(self.old.in_context(changed()))
    }
}

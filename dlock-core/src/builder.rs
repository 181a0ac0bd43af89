//! What a user says about one acquire.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tracing::Instrument;

use crate::{
    acquire::acquire,
    capabilities::{Capabilities, Modes},
    clock::BootInstant,
    core::User,
    error::{Error, ErrorKind, Result},
    guard::Guard,
    name::LockName,
    request::{AcquireRequest, Mode, Renewal, Wait},
};

/// How long to wait for a lock that is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitFor {
    Never,
    AtMost(Duration),
    Forever,
}

/// Everything that can be said about an acquire; `None` is the locker's default.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) core: User,
    pub(crate) ttl: Option<Duration>,
    pub(crate) wait: Option<WaitFor>,
    pub(crate) mode: Mode,
    pub(crate) renewal: Renewal,
    pub(crate) note: Option<Arc<str>>,
}

impl Options {
    pub(crate) fn new(core: User) -> Self {
        let (mode, renewal) = (Mode::default(), Renewal::default());
        Self {
            core,
            ttl: None,
            wait: None,
            mode,
            renewal,
            note: None,
        }
    }

    /// When the wait is over that begins now.
    pub(crate) fn until(&self, wait: WaitFor, ttl: Duration) -> BootInstant {
        match wait {
            // A grant that is answered after its ttl is over: there is nothing to wait for.
            WaitFor::Never => self.core.clock.now().after(ttl),
            WaitFor::AtMost(wait) => self.core.clock.now().after(wait),
            WaitFor::Forever => BootInstant::FOREVER,
        }
    }

    pub(crate) fn wait_for(&self) -> WaitFor {
        match self.wait.unwrap_or(WaitFor::AtMost(self.core.wait)) {
            WaitFor::AtMost(Duration::ZERO) => WaitFor::Never,
            wait => wait,
        }
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.ttl.unwrap_or(self.core.ttl)
    }

    /// Checks everything before any I/O (K11).
    pub(crate) fn check(&self) -> Result<()> {
        let capabilities = &self.core.capabilities;
        check_ttl(self.ttl(), capabilities)?;
        if self.mode == Mode::Shared && capabilities.modes == Modes::Exclusive {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this store has no shared locks",
            ));
        }
        self.note.as_deref().map_or(Ok(()), check_note)
    }

    /// Takes `name` until `until`.
    pub(crate) async fn acquire(
        &self,
        name: LockName,
        wait: WaitFor,
        until: BootInstant,
    ) -> Result<Guard> {
        let core = Arc::clone(&self.core);
        let wait = if matches!(wait, WaitFor::Never) {
            Wait::Never
        } else {
            Wait::UntilCancelled
        };
        let mut request = AcquireRequest::new(core.clone(), name.clone(), self.ttl(), wait);
        request.wait_until = (until != BootInstant::FOREVER).then_some(until);
        request.mode = self.mode;
        request.renewal = self.renewal;
        request.note = self.note.clone();
        let span = tracing::debug_span!("acquire", name = %name, attempt = %request.attempt.id());
        let result = acquire(core.clone(), request, until).instrument(span).await;
        result.map_err(|error| {
            core.meters.failed(&error);
            error.in_context("acquire", core.capabilities.backend, Some(&name))
        })
    }
}

pub(crate) fn check_ttl(ttl: Duration, capabilities: &Capabilities) -> Result<()> {
    let (min, max) = (capabilities.ttl_min, capabilities.ttl_max);
    let guard = capabilities.restart_guard;
    let why = if !(min..=max).contains(&ttl) {
        let [ttl, min, max] = [ttl, min, max].map(humantime::format_duration);
        format!("a ttl of {ttl} is not allowed here, {min} to {max} is")
    } else if !guard.is_zero() && ttl > guard {
        // The lock would outlive the wait of a store that forgot it (K1).
        too_long_to_guard(ttl, guard)
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// Why a ttl is refused that is longer than the store waits after it may have forgotten its locks.
pub(crate) fn too_long_to_guard(ttl: Duration, guard: Duration) -> String {
    let [ttl, guard] = [ttl, guard].map(humantime::format_duration);
    format!(
        "a ttl of {ttl} is longer than restart_guard={guard}: a server that forgot the lock would grant \
         it again before the ttl is over; set restart_guard={ttl} for all programs that use these locks"
    )
}

fn check_note(note: &str) -> Result<()> {
    let max = AcquireRequest::NOTE_BYTES_MAX;
    let why = if note.len() > max {
        format!(
            "a note has at most {max} bytes, this one has {}",
            note.len()
        )
    } else if note.chars().any(char::is_control) {
        "a note has no control characters".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// The setters that all acquires share.
macro_rules! setters {
    () => {
        /// How long a grant lives in the store without a renewal; within the backend's bounds. The
        /// default is the locker's.
        pub fn ttl(mut self, ttl: Duration) -> Self {
            self.options.ttl = Some(ttl);
            self
        }

        /// Lets others hold it shared at the same time; `Unsupported` where the backend has no
        /// shared mode.
        pub fn shared(mut self) -> Self {
            self.options.mode = Mode::Shared;
            self
        }

        /// What people see who inspect the lock: at most 255 bytes without control characters.
        pub fn note(mut self, note: &str) -> Self {
            self.options.note = Some(note.into());
            self
        }
    };
}

/// The setters of waiting acquires.
macro_rules! wait_setters {
    () => {
        /// How long to wait while the lock is taken; zero asks once. The default is the locker's.
        pub fn wait(mut self, wait: Duration) -> Self {
            self.options.wait = Some(WaitFor::AtMost(wait));
            self
        }

        /// Waits without an end.
        pub fn wait_forever(mut self) -> Self {
            self.options.wait = Some(WaitFor::Forever);
            self
        }
    };
}

pub(crate) use {setters, wait_setters};

/// An acquire that waits: made by [`Locker::acquire`](crate::Locker::acquire), run by `.await`.
#[derive(Debug)]
#[must_use = "an acquire does nothing unless it is awaited"]
pub struct Acquire {
    options: Options,
    name: Result<LockName>,
}

impl Acquire {
    pub(crate) fn new(core: User, name: Result<LockName>) -> Self {
        Self {
            options: Options::new(core),
            name,
        }
    }

    setters!();
    wait_setters!();

    /// Does not renew the lock: it ends after its ttl.
    pub fn no_renewal(mut self) -> Self {
        self.options.renewal = Renewal::None;
        self
    }

    /// Takes the lock, runs `body` while it is held, and releases it, always.
    ///
    /// # Errors
    ///
    /// Why the lock was not granted; what `body` failed with; `Lost` when the lock was lost before
    /// `body` ended, which is then dropped where it stands. Once `body` has ended while the lock was
    /// held, its value is returned: a release that fails goes on in the background.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` and releases the lock in the background.
    pub async fn scope<T, E>(self, body: impl AsyncFnOnce(&Guard) -> Result<T, E>) -> Result<T, E>
    where
        E: From<Error>,
    {
        let guard = self.await?;
        let ended = guard.while_held(body(&guard)).await;
        let released = guard.release().await;
        let value = ended??;
        match released {
            Err(error) if error.kind() == ErrorKind::Lost => Err(error.into()),
            _ => Ok(value),
        }
    }

    async fn run(self) -> Result<Guard> {
        let Self { options, name } = self;
        let backend = options.core.capabilities.backend;
        let invalid = |error: Error, name| error.in_context("acquire", backend, name);
        let name = name.map_err(|error| invalid(error, None))?;
        options
            .check()
            .map_err(|error| invalid(error, Some(&name)))?;
        let wait = options.wait_for();
        let until = options.until(wait, options.ttl());
        options.acquire(name, wait, until).await
    }
}

impl IntoFuture for Acquire {
    type Output = Result<Guard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// An acquire that asks once: made by [`Locker::try_acquire`](crate::Locker::try_acquire), run by
/// `.await`.
#[derive(Debug)]
#[must_use = "an acquire does nothing unless it is awaited"]
pub struct TryAcquire(Acquire);

impl TryAcquire {
    pub(crate) fn new(mut acquire: Acquire) -> Self {
        acquire.options.wait = Some(WaitFor::Never);
        Self(acquire)
    }

    /// As [`Acquire::ttl`].
    pub fn ttl(self, ttl: Duration) -> Self {
        Self(self.0.ttl(ttl))
    }

    /// As [`Acquire::shared`].
    pub fn shared(self) -> Self {
        Self(self.0.shared())
    }

    /// As [`Acquire::note`].
    pub fn note(self, note: &str) -> Self {
        Self(self.0.note(note))
    }

    /// As [`Acquire::no_renewal`].
    pub fn no_renewal(self) -> Self {
        Self(self.0.no_renewal())
    }
}

impl IntoFuture for TryAcquire {
    type Output = Result<Option<Guard>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async {
            match self.0.run().await {
                Ok(guard) => Ok(Some(guard)),
                Err(error) if error.kind() == ErrorKind::Contended => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}

//! The options of an acquire, and their checks before any I/O.

use std::{sync::Arc, time::Duration};

use tracing::Instrument;

use crate::{
    backend::{
        capabilities::{Capabilities, Modes},
        options::{Mode, Renewal, Wait},
        request::AcquireRequest,
    },
    base::{
        clock::BootInstant,
        error::{Error, ErrorKind, Result},
        name::LockName,
        range::time_out_of_range,
    },
    client::{drive::drive, guard::Guard},
    engine::shared::UserRef,
};

/// The wait for a lock that is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitFor {
    Never,
    AtMost(Duration),
    Forever,
}

/// The options of an acquire; `None` is the locker's default.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) shared: UserRef,
    pub(crate) ttl: Option<Duration>,
    pub(crate) wait: Option<WaitFor>,
    pub(crate) mode: Mode,
    pub(crate) renewal: Renewal,
    pub(crate) note: Option<Arc<str>>,
}

impl Options {
    pub(crate) fn new(shared: UserRef) -> Self {
        let (mode, renewal) = (Mode::default(), Renewal::default());
        Self {
            shared,
            ttl: None,
            wait: None,
            mode,
            renewal,
            note: None,
        }
    }

    /// The end of a wait that begins now.
    pub(crate) fn until(&self, wait: WaitFor, ttl: Duration) -> BootInstant {
        match wait {
            // A grant that is answered after its ttl is over: there is nothing to wait for.
            WaitFor::Never => self.shared.clock.now().after(ttl),
            WaitFor::AtMost(wait) => self.shared.clock.now().after(wait),
            WaitFor::Forever => BootInstant::FOREVER,
        }
    }

    pub(crate) fn wait_for(&self) -> WaitFor {
        match self.wait.unwrap_or(WaitFor::AtMost(self.shared.wait)) {
            WaitFor::AtMost(Duration::ZERO) => WaitFor::Never,
            wait => wait,
        }
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.ttl.unwrap_or(self.shared.ttl)
    }

    /// Checks everything before any I/O (K11).
    pub(crate) fn check(&self) -> Result<()> {
        let capabilities = &self.shared.capabilities;
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
        let shared = Arc::clone(&self.shared);
        let wait = if matches!(wait, WaitFor::Never) {
            Wait::Never
        } else {
            Wait::UntilCancelled
        };
        let mut request = AcquireRequest::new(
            shared.clone(),
            shared.clock.clone(),
            name.clone(),
            self.ttl(),
            wait,
        );
        request.wait_until = (until != BootInstant::FOREVER).then_some(until);
        request.mode = self.mode;
        request.renewal = self.renewal;
        request.note = self.note.clone();
        let span = tracing::debug_span!("acquire", name = %name, attempt = %request.attempt.id());
        let result = drive(shared.clone(), request, until).instrument(span).await;
        result.map_err(|error| {
            shared.metrics.failed(&error);
            error.in_context("acquire", shared.capabilities.backend, Some(&name))
        })
    }
}

pub(crate) fn check_ttl(ttl: Duration, capabilities: &Capabilities) -> Result<()> {
    let (min, max) = (capabilities.ttl_min, capabilities.ttl_max);
    let guard = capabilities.restart_guard;
    let why = if !(min..=max).contains(&ttl) {
        time_out_of_range("ttl", humantime::format_duration(ttl), &(min..=max))
    } else if !guard.is_zero() && ttl > guard {
        // The lock would outlive the wait of a store that forgot it (K1).
        too_long_to_guard(ttl, guard)
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidInput, why))
}

/// The reason to refuse a ttl longer than the wait of a store that may have forgotten its locks.
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
        /// Sets how long a grant lives in the store without a renewal, within the backend's bounds. The
        /// default is the locker's.
        pub fn ttl(mut self, ttl: Duration) -> Self {
            self.options.ttl = Some(ttl);
            self
        }

        /// Takes the lock shared: other shared holders may have it at the same time. `Unsupported`
        /// where the backend has no shared mode.
        pub fn shared(mut self) -> Self {
            self.options.mode = Mode::Shared;
            self
        }

        /// Sets a note for people who inspect the lock: at most 255 bytes without control characters.
        pub fn note(mut self, note: &str) -> Self {
            self.options.note = Some(note.into());
            self
        }
    };
}

/// The setters of waiting acquires.
macro_rules! wait_setters {
    () => {
        /// Sets how long to wait while the lock is taken; zero tries once. The default is the locker's.
        pub fn wait(mut self, wait: Duration) -> Self {
            self.options.wait = Some(WaitFor::AtMost(wait));
            self
        }

        /// Waits without a limit.
        ///
        /// ```
        /// # use dlock_core::{Locker, memory::Memory};
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> dlock_core::Result<()> {
        /// # let locks = Locker::builder(std::sync::Arc::new(Memory::new())).build()?;
        /// # let (first, second) = (locks.clone(), locks);
        /// let guard = first.acquire("leader").await?;
        /// // Becomes the leader when this one is gone, however long that takes.
        /// let next = tokio::spawn(async move { second.acquire("leader").wait_forever().await });
        /// guard.release().await?;
        /// assert!(next.await.unwrap()?.is_held());
        /// # Ok(())
        /// # }
        /// ```
        pub fn wait_forever(mut self) -> Self {
            self.options.wait = Some(WaitFor::Forever);
            self
        }
    };
}

pub(crate) use {setters, wait_setters};

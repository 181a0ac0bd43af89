//! The options of an acquire, and their checks before any I/O.

use std::{sync::Arc, time::Duration};

use tracing::{Instrument as _, Span};

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
    engine::{shared::UserRef, spans::AcquireSpan},
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

    /// Adds to `error` what was requested, of which backend.
    pub(crate) fn in_context(&self, error: Error, name: Option<&LockName>) -> Error {
        error.in_context("acquire", self.shared.capabilities.backend, name)
    }

    /// Checks everything before any I/O (K11), and begins the wait. The error names `name`.
    pub(crate) fn begin(&self, name: Option<&LockName>) -> Result<Begun<'_>> {
        self.check().map_err(|error| self.in_context(error, name))?;
        let wait = match self.wait.unwrap_or(WaitFor::AtMost(self.shared.wait)) {
            WaitFor::AtMost(Duration::ZERO) => WaitFor::Never,
            wait => wait,
        };
        Ok(Begun {
            wait,
            until: self.until(wait),
            options: self,
        })
    }

    /// The end of a wait that begins now.
    fn until(&self, wait: WaitFor) -> BootInstant {
        match wait {
            // A grant that is answered after its ttl is over: there is nothing to wait for.
            WaitFor::Never => self.shared.clock.now().after(self.ttl()),
            WaitFor::AtMost(wait) => self.shared.clock.now().after(wait),
            WaitFor::Forever => BootInstant::FOREVER,
        }
    }

    fn ttl(&self) -> Duration {
        self.ttl.unwrap_or(self.shared.ttl)
    }

    fn check(&self) -> Result<()> {
        let capabilities = &self.shared.capabilities;
        check_ttl(self.ttl(), capabilities)?;
        if self.mode == Mode::Shared && capabilities.modes == Modes::Exclusive {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "shared locks are not supported by this store; use an exclusive lock",
            ));
        }
        self.note.as_deref().map_or(Ok(()), check_note)
    }
}

/// Checked options, and the wait that has begun with them.
pub(crate) struct Begun<'a> {
    options: &'a Options,
    wait: WaitFor,
    until: BootInstant,
}

impl Begun<'_> {
    pub(crate) fn backend(&self) -> &'static str {
        self.options.shared.capabilities.backend
    }

    /// Takes `name`, and waits for it as long as the options say.
    pub(crate) fn acquire(&self, name: LockName) -> impl Future<Output = Result<Guard>> + Send {
        self.acquire_as(name, self.wait, self.until)
    }

    /// Takes `name` if it is free.
    pub(crate) async fn try_acquire(&self, name: LockName) -> Result<Guard> {
        let until = self.options.until(WaitFor::Never).min(self.until);
        self.acquire_as(name, WaitFor::Never, until).await
    }

    /// Not an `async fn`, which would have its arguments twice.
    #[expect(clippy::manual_async_fn, reason = "it is smaller")]
    fn acquire_as(
        &self,
        name: LockName,
        wait: WaitFor,
        until: BootInstant,
    ) -> impl Future<Output = Result<Guard>> + Send {
        async move {
            let (driven, span) = self.drive(&name, wait, until);
            let result = driven.instrument(span.span().clone()).await;
            span.end(result.as_ref().map(Guard::token));
            result.map_err(|error| {
                self.options.shared.metrics.acquire_failed(&error);
                self.options.in_context(error, Some(&name))
            })
        }
    }

    /// An attempt, and its span.
    fn drive(
        &self,
        name: &LockName,
        wait: WaitFor,
        until: BootInstant,
    ) -> (impl Future<Output = Result<Guard>> + use<>, AcquireSpan) {
        let options = self.options;
        let shared = Arc::clone(&options.shared);
        let wait = if matches!(wait, WaitFor::Never) {
            Wait::Never
        } else {
            Wait::UntilCancelled
        };
        let mut request = AcquireRequest::new(
            shared.clone(),
            shared.clock.clone(),
            name.clone(),
            options.ttl(),
            wait,
        );
        request.wait_until = (until != BootInstant::FOREVER).then_some(until);
        request.mode = options.mode;
        request.renewal = options.renewal;
        request.note = options.note.clone();
        let span = AcquireSpan::new(shared.capabilities.backend, &request);
        (drive(shared, request, until, Span::current()), span)
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
        "ttl {ttl} is longer than restart_guard={guard}: a server that forgot the lock would grant it again \
         before the ttl has ended; use a shorter ttl, or restart_guard={ttl} in all programs that use these locks"
    )
}

fn check_note(note: &str) -> Result<()> {
    let max = AcquireRequest::NOTE_BYTES_MAX;
    let why = if note.len() > max {
        format!("the note has {} bytes (allowed: up to {max})", note.len())
    } else if note.chars().any(char::is_control) {
        "the note has a control character; remove it".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidInput, why))
}

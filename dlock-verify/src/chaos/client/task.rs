//! One task of a worker.

use std::{sync::Arc, time::Duration};

use dlock_core::{Error, ErrorKind, LockName, Mode, backend::Wait};
use tokio::time::sleep;

use super::{
    lockers::Lockers,
    program::{Program, Step},
    protocol::Report,
    remote::Remote,
};
use crate::{
    history::{EventKind, RecordedGuard, Recorder, RegisterKind},
    support::drop_after_polls,
    worker::say,
};

/// How often a holder reports its deadline.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// The longest pause after an acquire that failed: a store that is down gets few requests.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// Both are incremented: what the fenced one refuses, the control loses.
const REGISTERS: [RegisterKind; 2] = [RegisterKind::Fenced, RegisterKind::Control];

pub(super) struct Task {
    pub(super) number: usize,
    pub(super) program: Program,
    pub(super) ttl: Duration,
    pub(super) lockers: Arc<Lockers>,
    pub(super) recorder: Recorder,
    pub(super) remote: Arc<Remote>,
}

impl Task {
    /// Takes locks and works under them until the parent wishes otherwise.
    pub(super) async fn run(mut self) {
        while self.remote.goes_on().await {
            let step = self.program.step();
            if step.new_locker {
                self.lockers.forget().await;
            }
            match self.take(&step).await {
                Some(guard) => self.work(&step, guard).await,
                None => sleep(self.program.pause(PAUSE_MAX)).await,
            }
        }
    }

    async fn take(&self, step: &Step) -> Option<RecordedGuard> {
        let remote = self.remote.clone();
        tokio::select! {
            biased;
            guard = self.acquire(step) => guard,
            // The acquire is dropped, as users drop theirs.
            () = remote.interrupted() => None,
        }
    }

    async fn acquire(&self, step: &Step) -> Option<RecordedGuard> {
        let (locker, number) = self.lockers.current().await;
        let name = LockName::new(&step.name).ok()?;
        let wait = match step.wait.is_zero() {
            true => Wait::Never,
            false => Wait::UntilCancelled,
        };
        let acquire = |note: String| {
            let acquire = locker.acquire(&name).ttl(self.ttl);
            acquire.wait(step.wait).note(&note)
        };
        let recorder = &self.recorder;
        let acquire = recorder.acquire_noted(&name, Mode::Exclusive, wait, acquire);
        let polls = step.polls_max.unwrap_or(u32::MAX);
        let result = drop_after_polls(acquire, polls).await?;
        let explain = |error: Error| match error.kind() {
            // A loss is a grant that came too late.
            ErrorKind::Contended | ErrorKind::Unavailable | ErrorKind::Lost => {}
            _ => say(&Report::Unexpected(error.to_string())),
        };
        let guard = result.map_err(explain).ok()?;
        if number > 0 {
            let (op, locker) = (guard.op(), number);
            recorder.record(EventKind::OfLocker { op, locker });
        }
        Some(guard)
    }

    /// Increments the fenced register and the control: reads, holds, checks, writes.
    async fn work(&self, step: &Step, guard: RecordedGuard) {
        let mut values = [None; REGISTERS.len()];
        for (value, register) in values.iter_mut().zip(REGISTERS) {
            *value = self.access(register, &guard, None).await;
        }
        let holding = async {
            tokio::select! {
                biased;
                () = self.remote.interrupted() => {}
                () = sleep(step.hold) => {}
            }
        };
        let held = guard.while_watched(REPORT_EVERY, holding).await;
        if held.is_none() || !guard.report() {
            guard.lost();
            return;
        }
        say(&Report::BeforeWrite {
            name: step.name.clone(),
        });
        // Not checked once more: it is the resource that has to refuse a write that comes too late.
        let writing = async {
            sleep(step.gap).await;
            for (value, register) in values.into_iter().zip(REGISTERS) {
                if let Some(value) = value {
                    self.access(register, &guard, Some(value + 1)).await;
                }
            }
        };
        guard.unheeded(REPORT_EVERY, writing).await;
        if step.drops_guard {
            guard.abandon();
        } else {
            // A release that is not confirmed goes on in the background.
            let _ = guard.release().await;
        }
    }

    async fn access(
        &self,
        register: RegisterKind,
        guard: &RecordedGuard,
        wrote: Option<u64>,
    ) -> Option<u64> {
        let (name, token) = (guard.guard().name(), guard.guard().token().get());
        let remote = &self.remote;
        let access = remote.access(self.number, register, name.as_str(), token, wrote);
        access.await
    }
}

//! A group of clients, in tasks or in worker processes, whose common history is checked.

use std::{
    env,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use dlock_verify::{
    checker::{Bounds, Facts, check},
    history::{Event, FencedRegister, Header, History, Recorder, Writer},
    support::Outcome,
};

use super::context::CaseContext;
use crate::{
    target::Load,
    worker::{Task, Worker, WorkerStart},
};

/// How many violations are printed; the others are like them.
const SHOWN_MAX: usize = 5;

/// A directory for the histories of failed runs.
const HISTORY_ENV: &str = "DLOCK_TEST_HISTORY";

pub(crate) struct ClientGroup<'a> {
    context: &'a CaseContext,
    pub(crate) history: Arc<History>,
    pub(crate) register: Arc<FencedRegister>,
    clients: AtomicU32,
}

impl<'a> ClientGroup<'a> {
    pub(crate) fn new(context: &'a CaseContext) -> Self {
        let (history, register) = (Arc::default(), Arc::default());
        Self {
            context,
            history,
            register,
            clients: AtomicU32::new(1),
        }
    }

    /// A recorder for a further client.
    pub(crate) fn recorder(&self) -> Recorder {
        let history = self.history.clone();
        Recorder::new(self.client(), move |event| history.record(event))
    }

    /// A further client, in a process of its own.
    pub(crate) fn worker(&self, task: Task) -> Outcome<Worker> {
        let start = WorkerStart {
            target: self.context.target.name().to_owned(),
            address: self.context.address.clone(),
            client: self.client(),
            task,
            history: self.history.clone(),
            register: self.register.clone(),
        };
        start.start()
    }

    /// The number of events that satisfy `wanted`.
    pub(crate) fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.history
            .events()
            .iter()
            .filter(|event| wanted(event))
            .count()
    }

    /// Fails if a check of the history so far finds a violation.
    pub(crate) fn check(&self) -> Outcome {
        let mut facts: Facts = self.history.events().iter().collect();
        facts.fenced = self.register.log();
        let report = check(&facts, &self.bounds());
        let violations: Vec<_> = report.violations().collect();
        if violations.is_empty() {
            return Ok(());
        }
        self.context.violated.note(&violations);
        let shown: Vec<_> = violations
            .iter()
            .take(SHOWN_MAX)
            .map(ToString::to_string)
            .collect();
        let (count, shown) = (violations.len(), shown.join("\n"));
        let kept = self.keep()?.map(|kept| format!("\n{kept}"));
        let kept = kept.unwrap_or_default();
        Err(format!("{count} violations, such as:\n{shown}{kept}").into())
    }

    fn bounds(&self) -> Bounds {
        let capabilities = (&self.context.capabilities).into();
        Bounds::new(self.context.ttl_long(), &capabilities)
    }

    /// Writes the history to a file, if the environment names a directory; the words for it.
    fn keep(&self) -> Outcome<Option<String>> {
        let Some(directory) = env::var_os(HISTORY_ENV) else {
            let hint = format!("to capture the history, name a directory in {HISTORY_ENV}");
            // The users of a store in operation have no suite to run again.
            return Ok((self.context.target.load() == Load::Full).then_some(hint));
        };
        let number = rand::random::<u64>();
        let path = PathBuf::from(directory).join(format!("history-{number:016x}.jsonl"));
        let header = Header::new(number, self.context.ttl_long(), &self.context.capabilities);
        let mut writer = Writer::create(&path, &header)?;
        for event in self.history.events() {
            writer.record(&event)?;
        }
        writer.finish()?;
        Ok(Some(format!("the history is in {}", path.display())))
    }

    fn client(&self) -> u32 {
        self.clients.fetch_add(1, Ordering::Relaxed)
    }
}

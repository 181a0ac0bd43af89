//! All nodes of a quorum: they are opened at once, and those that fail once a second.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use dlock_core::{
    Capabilities, Clock, Error, ErrorKind, Result, backend::DistributedLock, toolkit::Lock,
};
use tokio::{sync::Notify, task::JoinSet, time::timeout};

use super::{
    capabilities::{capabilities, fits},
    node::{Node, Open, Opening, Slot},
    options::{Checked, QuorumOptions},
};

/// The pause before a node that could not be opened is tried again.
const OPEN_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// One try to open a node takes at most this.
const OPEN_MAX: Duration = Duration::from_secs(30);

/// When enough nodes are open, the others are waited for during this time. They are opened in the background then.
const OTHERS_MAX: Duration = Duration::from_millis(500);

/// An error names so many nodes.
const NAMED_MAX: usize = 5;

/// The nodes, and what they have in common.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) slots: Vec<Arc<Slot>>,
    pub(super) options: Checked,
    pub(super) capabilities: Capabilities,
    pub(super) clock: Clock,
    /// The tasks that open nodes; they end with this value.
    opening: Lock<JoinSet<()>>,
}

/// The state that all tasks share which open nodes.
#[derive(Debug, Default)]
struct Joint {
    /// A store that opens later must have these.
    capabilities: Lock<Option<Capabilities>>,
    changed: Notify,
}

impl Nodes {
    /// Opens the nodes; ends when enough of them are open and the others have had a moment.
    pub(super) async fn open(nodes: Vec<Node>, options: &QuorumOptions) -> Result<Self> {
        let options = options.checked(nodes.len())?;
        let (joint, mut opening) = (Arc::new(Joint::default()), JoinSet::new());
        let mut slots = Vec::with_capacity(nodes.len());
        for (number, node) in (1..).zip(nodes) {
            let slot = Arc::new(Slot::new(number, &node.place));
            match node.opening {
                Opening::Done(store) => {
                    let _ = slot.opened(store);
                }
                Opening::By(open) => {
                    opening.spawn(open_until_done(Arc::downgrade(&slot), open, joint.clone()));
                }
            }
            slots.push(slot);
        }
        wait_until_open(&slots, options, &joint).await?;
        let mut shared = joint.capabilities.lock();
        let stores: Vec<_> = slots.iter().filter_map(|slot| slot.store()).collect();
        let each: Vec<_> = stores.iter().map(|store| store.capabilities()).collect();
        let all_count = stores.iter().all(|store| store.token_counter().is_some());
        let capabilities = capabilities(&each, all_count);
        *shared = Some(capabilities);
        drop(shared);
        let clock = stores.first().map(|store| store.clock());
        Ok(Self {
            slots,
            options,
            capabilities,
            clock: clock.unwrap_or_default(),
            opening: Lock::new(opening),
        })
    }

    /// Whether enough nodes are open that were not silent the last time.
    pub(super) fn are_enough_without_silent(&self) -> bool {
        let is_fine = |slot: &&Arc<Slot>| !slot.silence.is_silent() && slot.store().is_some();
        self.slots.iter().filter(is_fine).count() >= self.options.need
    }

    /// Closes all nodes. An error is one that too few of them are closed for.
    pub(super) async fn close(&self) -> Result<()> {
        self.opening.lock().abort_all();
        let mut closing = JoinSet::new();
        for store in self.slots.iter().filter_map(|slot| slot.close()) {
            closing.spawn(async move { store.close().await });
        }
        let (all, mut failed) = (closing.len(), Vec::new());
        while let Some(closed) = closing.join_next().await {
            failed.extend(closed.unwrap_or(Ok(())).err());
        }
        if all - failed.len() >= self.options.need {
            return Ok(());
        }
        failed.pop().map_or(Ok(()), Err)
    }

    /// Refuses a call after [`close`](Self::close).
    pub(super) fn check_open(&self) -> Result<()> {
        if self.slots.iter().any(|slot| slot.is_closed()) {
            return Err(Error::closed());
        }
        Ok(())
    }
}

/// Waits until `need` nodes are open, and a moment for the others.
async fn wait_until_open(slots: &[Arc<Slot>], options: Checked, joint: &Joint) -> Result<()> {
    let Checked { need, .. } = options;
    let count = |is: fn(&Slot) -> bool| slots.iter().filter(|slot| is(slot)).count();
    let is_open: fn(&Slot) -> bool = |slot| slot.store().is_some();
    loop {
        if count(is_open) >= need {
            break;
        }
        if slots.len() - count(Slot::has_failed) < need {
            return Err(too_few_open(slots, need));
        }
        joint.changed.notified().await;
    }
    let all_tried = async {
        while count(is_open) + count(Slot::has_failed) < slots.len() {
            joint.changed.notified().await;
        }
    };
    // The others go on in the background.
    let _ = timeout(OTHERS_MAX, all_tried).await;
    Ok(())
}

fn too_few_open(slots: &[Arc<Slot>], need: usize) -> Error {
    let closed = slots.iter().filter(|slot| slot.store().is_none());
    let closed: Vec<_> = closed.map(|slot| (slot, slot.why_not_open())).collect();
    let (nodes, open) = (slots.len(), slots.len() - closed.len());
    // A setting that is wrong is not mended by trying again.
    let is_final = |(_, error): &&(&Arc<Slot>, Error)| !error.is_retryable();
    let cause = closed.iter().find(is_final).or_else(|| closed.first());
    let kind = cause.map_or(ErrorKind::Unavailable, |(_, error)| error.kind());
    let labels: Vec<_> = closed.iter().map(|(slot, _)| slot.label.as_str()).collect();
    let mut why = format!(
        "{open} of {nodes} nodes can be reached, {need} are needed; not reached: {}",
        named(&labels)
    );
    if let Some((slot, cause)) = cause {
        why = format!("{why}; node {}: {cause}", slot.number);
    }
    Error::new(kind, why)
}

/// The first ones of `labels`, and how many more there are.
fn named(labels: &[&str]) -> String {
    let shown = &labels[..labels.len().min(NAMED_MAX)];
    let text = shown.join(", ");
    match labels.len() - shown.len() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// Opens the store of a node, again and again until that succeeds or the quorum is gone.
async fn open_until_done(slot: Weak<Slot>, open: Open, joint: Arc<Joint>) {
    loop {
        let opened = timeout(OPEN_MAX, in_a_task(open.clone()))
            .await
            .unwrap_or_else(|_| {
                let why = format!("the node could not be opened in {OPEN_MAX:?}");
                Err(Error::new(ErrorKind::Unavailable, why))
            });
        let Some(slot) = slot.upgrade() else { return };
        let refused = match opened {
            Ok(store) => accept(&slot, store.into(), &joint).await,
            Err(error) => Err(error),
        };
        match refused {
            Ok(()) => {
                joint.changed.notify_one();
                return;
            }
            Err(error) => {
                if !slot.has_failed() {
                    let label = &slot.label;
                    tracing::warn!(%error, "{label} of the quorum is not open; it is tried again");
                }
                slot.failed(error);
                joint.changed.notify_one();
            }
        }
        drop(slot);
        tokio::time::sleep(OPEN_AGAIN_AFTER).await;
    }
}

/// Opens a store in a task of its own: a store that panics fails alone.
async fn in_a_task(open: Open) -> Result<Box<dyn DistributedLock>> {
    let mut task = JoinSet::new();
    task.spawn(async move { open().await });
    match task.join_next().await {
        Some(Ok(opened)) => opened,
        _ => {
            let why = "the store panicked while it was opened";
            Err(Error::new(ErrorKind::Internal, why))
        }
    }
}

/// Makes `store` that of its node, if it can do what the quorum has promised.
async fn accept(slot: &Slot, store: Arc<dyn DistributedLock>, joint: &Joint) -> Result<()> {
    let refused = {
        // Held until the store is in its place: the capabilities are those of all stores that were there before.
        let shared = joint.capabilities.lock();
        match shared.as_ref().map(|shared| fits(shared, &*store)) {
            Some(Err(error)) => Some((store, Err(error))),
            Some(Ok(())) | None => slot.opened(store).err().map(|store| (store, Ok(()))),
        }
    };
    match refused {
        None => Ok(()),
        Some((store, result)) => {
            // In a task of its own: a close of the quorum aborts this one.
            let _ = tokio::spawn(async move { store.close().await }).await;
            result
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_some_nodes() {
        let labels = ["a", "b", "c", "d", "e", "f", "g"];
        assert_eq!(named(&labels[..1]), "a");
        assert_eq!(named(&labels[..NAMED_MAX]), "a, b, c, d, e");
        assert_eq!(named(&labels), "a, b, c, d, e and 2 more");
    }
}

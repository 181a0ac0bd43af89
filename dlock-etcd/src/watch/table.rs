//! The watches of a backend, and what the stream's task must do for them.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use dlock_core::{BootInstant, backend::Attempt};
use etcd_client::{WatchFilterType, WatchOptions};
use tokio::sync::Notify;

use crate::watch::{
    ids::{self, WatchIds},
    pair::Pair,
};

/// The watches by our ids. Its queues are bounded by the attempts: each has at most two watches.
pub(super) struct Table {
    pub(super) watches: HashMap<i64, Watch>,
    /// The last id that we gave.
    pub(super) last_id: i64,
    /// The requested watches by key: an event has the key, and an id that need not be ours.
    by_key: HashMap<Vec<u8>, Vec<i64>>,
    /// The ids of the present stream.
    pub(super) ids: WatchIds,
    /// The requests to send to the server, in order.
    pub(super) commands: VecDeque<Command>,
    /// The watches that begin later, in order.
    pub(super) delayed: VecDeque<(BootInstant, i64)>,
    /// Whether the task runs.
    pub(super) is_running: bool,
    /// The time at which the task wakes by itself, if it sleeps.
    pub(super) next_wake: BootInstant,
}

pub(super) struct Watch {
    pub(super) key: Vec<u8>,
    /// The first revision that was not seen.
    pub(super) from: i64,
    /// The first revision that the present stream reports, once it is known.
    pub(super) begins: Option<i64>,
    pub(super) target: Target,
    pub(super) is_requested: bool,
}

/// The attempt that is notified when a key is deleted or overwritten.
#[derive(Clone)]
pub(crate) enum Target {
    /// The holder of the lock: its lock is lost. With a `value`, also when the key gets another one.
    Holder {
        attempt: Attempt,
        value: Option<Vec<u8>>,
    },
    /// A waiter, which then reads its position; it is notified also after a gap.
    Waiter(Arc<Notify>),
    /// A waiter behind the first key. Its events may make a read needless.
    Pair(Arc<Pair>),
}

/// A request to the server, by our id.
pub(super) enum Command {
    Create(i64),
    Cancel(i64),
}

/// The next action of the task.
pub(crate) enum NextAction {
    Create(Vec<u8>, WatchOptions),
    /// Cancels the watch with this id of the server.
    Cancel(i64),
    /// Sleep until then.
    Wait(BootInstant),
    /// Give the stream up: a request has no reply.
    TimedOut,
    /// End at that time: there are no watches.
    Idle(BootInstant),
}

impl Default for Table {
    fn default() -> Self {
        Self {
            watches: HashMap::new(),
            last_id: ids::FIRST,
            by_key: HashMap::new(),
            ids: WatchIds::default(),
            commands: VecDeque::new(),
            delayed: VecDeque::new(),
            is_running: false,
            next_wake: BootInstant::FOREVER,
        }
    }
}

impl Table {
    /// Marks a watch as requested, and returns the request; `None` if the watch has ended since.
    pub(super) fn request(&mut self, id: i64, now: BootInstant) -> Option<NextAction> {
        let watch = self.watches.get_mut(&id)?;
        watch.is_requested = true;
        for key in watch.keys() {
            self.by_key.entry(key.to_vec()).or_default().push(id);
        }
        self.ids.request(id, now);
        let options = WatchOptions::new().with_watch_id(id);
        let deletions = options.clone().with_filters([WatchFilterType::NoPut]);
        let options = match &watch.target {
            Target::Holder { value: None, .. } => deletions.with_start_revision(watch.from),
            Target::Holder { value: Some(_), .. } => options.with_start_revision(watch.from),
            Target::Waiter(_) => deletions,
            Target::Pair(pair) => {
                let (begin, end) = pair.range();
                return Some(NextAction::Create(begin, deletions.with_range(end)));
            }
        };
        Some(NextAction::Create(watch.key.clone(), options))
    }

    /// Removes a watch, and cancels it in the server; whether the task has something to do for that.
    pub(super) fn remove(&mut self, id: i64) -> bool {
        let watch = self.watches.remove(&id);
        let Some(watch) = watch.filter(|watch| watch.is_requested) else {
            return false;
        };
        for key in watch.keys() {
            if let Some(ids) = self.by_key.get_mut(key) {
                ids.retain(|other| *other != id);
                if ids.is_empty() {
                    self.by_key.remove(key);
                }
            }
        }
        self.commands.push_back(Command::Cancel(id));
        true
    }

    /// The targets of a key that was deleted or written in `revision`. Keys are used again, so the event may be about
    /// an earlier attempt.
    pub(super) fn targets(&self, key: &[u8], revision: i64) -> Vec<Target> {
        let ids = self.by_key.get(key).map_or(&[][..], Vec::as_slice);
        let watches = ids.iter().filter_map(|id| self.watches.get(id));
        watches
            .filter(|watch| watch.from <= revision)
            .map(|watch| watch.target.clone())
            .collect()
    }

    /// The stream has ended: all its watches are requested again on the next one, and waiters are woken.
    pub(super) fn restart(&mut self) {
        self.commands
            .retain(|command| matches!(command, Command::Create(_)));
        self.by_key.clear();
        let mut again = Vec::new();
        for (id, watch) in &mut self.watches {
            if std::mem::take(&mut watch.is_requested) {
                again.push(Command::Create(*id));
            }
            watch.begins = None;
            if let Some(wake) = watch.target.waiter() {
                wake.notify_one();
            }
        }
        self.commands.extend(again);
    }

    /// Notes the deletions in one reply to the watch with this id of the server, each with its revision.
    pub(super) fn note(&self, server: i64, deletions: &[(&[u8], i64)]) {
        let id = self.ids.ours(server);
        let Some(watch) = id.and_then(|id| self.watches.get(&id)) else {
            return;
        };
        if let Target::Pair(pair) = &watch.target {
            // Keys are used again: an earlier deletion is of another attempt's key.
            let is_deleted = |key: &[u8]| {
                let mut deletions = deletions.iter();
                deletions.any(|(deleted, revision)| *deleted == key && watch.from <= *revision)
            };
            pair.note(is_deleted, watch.is_gapless());
        }
    }
}

impl Watch {
    /// The keys whose events are of interest.
    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let first = match &self.target {
            Target::Pair(pair) => Some(&*pair.first),
            Target::Holder { .. } | Target::Waiter(_) => None,
        };
        [&*self.key].into_iter().chain(first)
    }

    /// Whether the stream reports all that comes after what was seen.
    fn is_gapless(&self) -> bool {
        self.begins.is_some_and(|begins| begins <= self.from)
    }
}

impl Target {
    /// The waiter, which is also notified after a gap.
    pub(super) fn waiter(&self) -> Option<&Notify> {
        match self {
            Self::Holder { .. } => None,
            Self::Waiter(wake) => Some(wake),
            Self::Pair(pair) => Some(&pair.wake),
        }
    }
}

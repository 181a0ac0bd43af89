//! Hearing of keys that go: one stream for all of them.
//!
//! History is kept by the store, so a watch may begin late, and after a break begin again where it
//! was: nothing is missed but what the store has compacted. So a held lock is watched only when it
//! has been held for a while, and a short one costs nothing.
//!
//! But a server that is to look into its history does so every 100 ms. So who waits is told of what
//! comes from now on, and to look once more if anything was written between its last look and then.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use dlock_core::{BootInstant, LostCause, backend::Attempt, toolkit::Lock};
use etcd_client::{WatchFilterType, WatchOptions};
use tokio::sync::Notify;

use crate::{
    conn::members::Session,
    watch::ids::{self as numbers, Numbers},
    watch::stream as listen,
};

/// A lock that is held for less than this is not watched.
const WATCH_AFTER: Duration = Duration::from_millis(50);

/// What nobody watches is ended after this.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// All watches of a backend.
#[derive(Clone)]
pub(crate) struct Watches(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) session: Arc<Session>,
    table: Lock<Table>,
    /// Wakes the task when there is something to tell the store.
    pub(crate) changed: Notify,
}

/// Its queues are bounded by the attempts: each has two watches at most.
struct Table {
    watches: HashMap<i64, Watch>,
    serial: i64,
    /// Those that the store was told of, by their keys: an event has the key, and a number that need not
    /// be ours.
    by_key: HashMap<Vec<u8>, Vec<i64>>,
    /// Of the present stream.
    numbers: Numbers,
    /// What the store is to be told, in order.
    todo: VecDeque<Say>,
    /// What becomes due, in order.
    later: VecDeque<(BootInstant, i64)>,
    /// Whether the task runs.
    running: bool,
    /// When it will look next, if it sleeps.
    next_look: BootInstant,
}

struct Watch {
    key: Vec<u8>,
    /// The first revision that was not seen.
    from: i64,
    told: Told,
    /// Whether the store was told of it.
    begun: bool,
}

/// Who is told that a key is gone.
#[derive(Clone)]
pub(crate) enum Told {
    /// Whoever holds the lock that it is.
    Holder(Attempt),
    /// Whoever waits; told also when it should look again.
    Waiter(Arc<Notify>),
}

/// What the store is told next.
pub(crate) enum Say {
    Begin(i64),
    End(i64),
}

/// What the task does next.
pub(crate) enum Next {
    Begin(Vec<u8>, WatchOptions),
    /// By the number that the server gave it.
    End(i64),
    /// Nothing before that.
    Wait(BootInstant),
    /// Nothing: a watch was asked for and is not answered.
    Silent,
    /// Nothing at all: nobody watches.
    Idle(BootInstant),
}

/// A watch; it ends when this is dropped.
pub(crate) struct Watched {
    id: i64,
    watches: Watches,
}

impl Watches {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        Self(Arc::new(Inner {
            session,
            table: Lock::default(),
            changed: Notify::new(),
        }))
    }

    /// Tells `told` when `key` is deleted in revision `from` or later.
    pub(crate) fn watch(&self, key: impl Into<Vec<u8>>, from: i64, told: Told) -> Watched {
        let now = self.0.session.clock.now();
        let mut table = self.0.table.lock();
        table.serial += 1;
        let id = table.serial;
        let due = match told {
            Told::Waiter(_) => {
                table.todo.push_back(Say::Begin(id));
                now
            }
            Told::Holder(_) => {
                let due = now.after(WATCH_AFTER);
                table.later.push_back((due, id));
                due
            }
        };
        let watch = Watch {
            key: key.into(),
            from,
            begun: false,
            told,
        };
        table.watches.insert(id, watch);
        if !std::mem::replace(&mut table.running, true) {
            tokio::spawn(listen::run(self.0.clone()));
        }
        // Not for each of many short holds.
        let wakes = due < table.next_look;
        table.next_look = table.next_look.min(due);
        drop(table);
        if wakes {
            self.0.changed.notify_one();
        }
        Watched {
            id,
            watches: self.clone(),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut table = self.watches.0.table.lock();
        let watch = table.watches.remove(&self.id);
        if let Some(watch) = watch.filter(|watch| watch.begun) {
            table.forget(&watch.key, self.id);
            table.todo.push_back(Say::End(self.id));
            drop(table);
            self.watches.0.changed.notify_one();
        }
    }
}

impl Inner {
    /// What to do next.
    pub(crate) fn next(&self) -> Next {
        let now = self.session.clock.now();
        let mut table = self.table.lock();
        let mut is_busy = false;
        loop {
            if let (Some(Say::Begin(_)), Some(since)) =
                (table.todo.front(), table.numbers.awaited_since())
            {
                let until = since.after(self.session.config.answer_max);
                if until <= now {
                    return Next::Silent;
                }
                table.next_look = until;
                return Next::Wait(until);
            }
            match table.todo.pop_front() {
                Some(Say::End(id)) => {
                    // One that is not answered yet ends with the answer.
                    if let Some(number) = table.numbers.end(id) {
                        return Next::End(number);
                    }
                    continue;
                }
                Some(Say::Begin(id)) => {
                    if let Some(next) = table.begin(id, now) {
                        return next;
                    }
                    continue;
                }
                None => {}
            }
            match table.later.front().copied() {
                // Of a short hold: nothing wakes for it.
                Some((_, id)) if !table.watches.contains_key(&id) => {
                    table.later.pop_front();
                    is_busy = true;
                }
                Some((due, _)) if due > now => {
                    table.next_look = due;
                    return Next::Wait(due);
                }
                Some((_, id)) => {
                    table.later.pop_front();
                    table.todo.push_back(Say::Begin(id));
                }
                // Between two short holds: the next one need not wake the task.
                None if is_busy => {
                    table.next_look = now.after(WATCH_AFTER);
                    return Next::Wait(table.next_look);
                }
                None if table.watches.is_empty() => {
                    table.next_look = now.after(IDLE_MAX);
                    return Next::Idle(table.next_look);
                }
                None => {
                    table.next_look = BootInstant::FOREVER;
                    return Next::Wait(BootInstant::FOREVER);
                }
            }
        }
    }

    /// Whether the task may end, as nobody watches. Then the next watch starts another one.
    pub(crate) fn ends(&self) -> bool {
        let mut table = self.table.lock();
        let idle = table.watches.is_empty() || self.session.is_closed();
        if idle {
            table.running = false;
            table.todo.clear();
            table.later.clear();
        }
        idle
    }

    /// A key was deleted in `revision`. A key is used again by the next attempt, so an event may be about
    /// an earlier one.
    pub(crate) fn gone(&self, key: &[u8], revision: i64) {
        let table = self.table.lock();
        let ids = table.by_key.get(key).map_or(&[][..], Vec::as_slice);
        let watches = ids.iter().filter_map(|id| table.watches.get(id));
        let told: Vec<_> = watches
            .filter(|watch| watch.from <= revision)
            .map(|watch| watch.told.clone())
            .collect();
        drop(table);
        for told in told {
            match told {
                Told::Holder(attempt) => attempt.report_lost(LostCause::Removed),
                Told::Waiter(woken) => woken.notify_one(),
            }
        }
    }

    /// The server has made a watch that it calls `number`, and sends what comes after `revision`. Whether
    /// anybody has asked for it.
    pub(crate) fn begun(&self, number: i64, revision: i64) -> bool {
        let mut table = self.table.lock();
        let Some(id) = table.numbers.answered(number) else {
            return false;
        };
        match table.watches.get(&id) {
            Some(Watch { told, from, .. }) => {
                if let Told::Waiter(woken) = told
                    && *from <= revision
                {
                    woken.notify_one();
                }
            }
            None => table.todo.push_back(Say::End(id)),
        }
        let goes_on = !table.todo.is_empty();
        drop(table);
        if goes_on {
            self.changed.notify_one();
        }
        true
    }

    /// Whether anybody has the watch still that the server calls so.
    pub(crate) fn is_watched(&self, number: i64) -> bool {
        let table = self.table.lock();
        let id = table.numbers.ours(number);
        id.is_some_and(|id| table.watches.contains_key(&id))
    }

    /// A new stream begins: nothing was asked for on it.
    pub(crate) fn anew(&self) {
        self.table.lock().numbers = Numbers::default();
    }

    /// The store has no history before `revision` any more (T29). What a holder may have missed, its
    /// next renewal finds.
    pub(crate) fn compacted(&self, revision: i64) {
        for watch in self.table.lock().watches.values_mut() {
            watch.from = watch.from.max(revision);
        }
    }

    /// The stream is over: all that it had begins again, and who waits looks by itself.
    pub(crate) fn broken(&self) {
        let mut table = self.table.lock();
        table.todo.retain(|say| matches!(say, Say::Begin(_)));
        table.by_key.clear();
        let mut again = Vec::new();
        for (id, watch) in &mut table.watches {
            if std::mem::take(&mut watch.begun) {
                again.push(Say::Begin(*id));
            }
            if let Told::Waiter(woken) = &watch.told {
                woken.notify_one();
            }
        }
        table.todo.extend(again);
    }
}

impl Default for Table {
    fn default() -> Self {
        Self {
            watches: HashMap::new(),
            serial: numbers::FIRST,
            by_key: HashMap::new(),
            numbers: Numbers::default(),
            todo: VecDeque::new(),
            later: VecDeque::new(),
            running: false,
            next_look: BootInstant::FOREVER,
        }
    }
}

impl Table {
    /// `None` if it has ended meanwhile.
    fn begin(&mut self, id: i64, now: BootInstant) -> Option<Next> {
        let watch = self.watches.get_mut(&id)?;
        watch.begun = true;
        self.by_key.entry(watch.key.clone()).or_default().push(id);
        self.numbers.ask(id, now);
        let options = WatchOptions::new()
            .with_watch_id(id)
            .with_filters([WatchFilterType::NoPut]);
        let options = match watch.told {
            Told::Holder(_) => options.with_start_revision(watch.from),
            Told::Waiter(_) => options,
        };
        Some(Next::Begin(watch.key.clone(), options))
    }

    fn forget(&mut self, key: &[u8], id: i64) {
        if let Some(ids) = self.by_key.get_mut(key) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_key.remove(key);
            }
        }
    }
}

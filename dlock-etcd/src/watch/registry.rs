//! The registry of watches, shared by attempts and the stream's task.

use std::{sync::Arc, time::Duration};

use dlock_core::{BootInstant, LostCause, toolkit::Lock};
use tokio::sync::Notify;

pub(crate) use crate::watch::table::{NextAction, Target};
use crate::{
    conn::members::Members,
    watch::{
        ids::WatchIds,
        table::{Command, Table, Watch},
    },
};

/// A lock that is held for less than this is not watched.
const WATCH_AFTER: Duration = Duration::from_millis(50);

/// A stream without watches ends after this.
const IDLE_MAX: Duration = Duration::from_secs(1);

pub(crate) struct Registry {
    pub(crate) members: Arc<Members>,
    table: Lock<Table>,
    /// Wakes the task when there is a command for the server.
    pub(crate) changed: Notify,
}

/// A watch that was added.
pub(crate) struct Added {
    pub(crate) id: i64,
    /// Whether the stream's task must be started.
    pub(crate) needs_task: bool,
    /// Whether the watch is due before the task wakes by itself.
    pub(crate) is_due_first: bool,
}

impl Registry {
    pub(crate) fn new(members: Arc<Members>) -> Self {
        Self {
            members,
            table: Lock::default(),
            changed: Notify::new(),
        }
    }

    /// Adds a watch: a waiter's at once, a holder's after a while.
    pub(crate) fn add(&self, key: Vec<u8>, from: i64, target: Target) -> Added {
        let now = self.members.clock.now();
        let mut table = self.table.lock();
        table.last_id += 1;
        let id = table.last_id;
        let due = match target {
            Target::Waiter(_) | Target::Pair(_) => {
                table.commands.push_back(Command::Create(id));
                now
            }
            Target::Holder { .. } => {
                let due = now.after(WATCH_AFTER);
                table.delayed.push_back((due, id));
                due
            }
        };
        let watch = Watch {
            key,
            from,
            begins: None,
            target,
            is_requested: false,
        };
        table.watches.insert(id, watch);
        let needs_task = !std::mem::replace(&mut table.is_running, true);
        // Many short holds do not wake the task each.
        let is_due_first = due < table.next_wake;
        table.next_wake = table.next_wake.min(due);
        Added {
            id,
            needs_task,
            is_due_first,
        }
    }

    pub(crate) fn remove(&self, id: i64) {
        // The lock is free again when the task wakes.
        let has_command = self.table.lock().remove(id);
        if has_command {
            self.changed.notify_one();
        }
    }

    /// Chooses the next action of the task.
    pub(crate) fn next(&self) -> NextAction {
        let now = self.members.clock.now();
        let mut table = self.table.lock();
        let mut is_busy = false;
        loop {
            if let (Some(Command::Create(_)), Some(since)) =
                (table.commands.front(), table.ids.awaited_since())
            {
                let until = since.after(self.members.config.timeouts.reply);
                if until <= now {
                    return NextAction::TimedOut;
                }
                table.next_wake = until;
                return NextAction::Wait(until);
            }
            match table.commands.pop_front() {
                Some(Command::Cancel(id)) => {
                    // A watch whose request has no reply yet is cancelled after the reply.
                    if let Some(server) = table.ids.end(id) {
                        return NextAction::Cancel(server);
                    }
                    continue;
                }
                Some(Command::Create(id)) => {
                    if let Some(next) = table.request(id, now) {
                        return next;
                    }
                    continue;
                }
                None => {}
            }
            match table.delayed.front().copied() {
                // The watch of a short hold, which has ended.
                Some((_, id)) if !table.watches.contains_key(&id) => {
                    table.delayed.pop_front();
                    is_busy = true;
                }
                Some((due, _)) if due > now => {
                    table.next_wake = due;
                    return NextAction::Wait(due);
                }
                Some((_, id)) => {
                    table.delayed.pop_front();
                    table.commands.push_back(Command::Create(id));
                }
                // Between two short holds: the next one need not wake the task.
                None if is_busy => {
                    table.next_wake = now.after(WATCH_AFTER);
                    return NextAction::Wait(table.next_wake);
                }
                None if table.watches.is_empty() => {
                    table.next_wake = now.after(IDLE_MAX);
                    return NextAction::Idle(table.next_wake);
                }
                None => {
                    let forever = BootInstant::FOREVER;
                    table.next_wake = forever;
                    return NextAction::Wait(forever);
                }
            }
        }
    }

    /// Whether the task may end, without watches. Then the next watch starts another task.
    pub(crate) fn stop_if_idle(&self) -> bool {
        let mut table = self.table.lock();
        let is_idle = table.watches.is_empty() || self.members.is_closed();
        if is_idle {
            table.is_running = false;
            table.commands.clear();
            table.delayed.clear();
        }
        is_idle
    }

    /// A new stream begins, without requests.
    pub(crate) fn begin_stream(&self) {
        self.table.lock().ids = WatchIds::default();
    }

    /// The stream has ended: all its watches are requested again on the next one, and waiters are woken.
    pub(crate) fn end_stream(&self) {
        self.table.lock().restart();
    }

    /// The waiter of this watch has seen its keys in `revision`.
    pub(crate) fn keys_seen(&self, id: i64, revision: i64) {
        if let Some(watch) = self.table.lock().watches.get_mut(&id) {
            watch.from = watch.from.max(revision + 1);
        }
    }

    /// The watch with this id of the server reports these deletions in one reply. Comes before
    /// [`key_deleted`](Self::key_deleted), which wakes the waiters.
    pub(crate) fn deletions_of(&self, server: i64, deletions: &[(&[u8], i64)]) {
        self.table.lock().note(server, deletions);
    }

    /// A key was deleted in `revision`.
    pub(crate) fn key_deleted(&self, key: &[u8], revision: i64) {
        let targets = self.table.lock().targets(key, revision);
        for target in targets {
            match target {
                Target::Holder { attempt, .. } => attempt.report_lost(LostCause::Removed),
                Target::Waiter(wake) => wake.notify_one(),
                Target::Pair(pair) => pair.wake.notify_one(),
            }
        }
    }

    /// A key got this value in `revision`. A holder's key is written again only by its move to another lease,
    /// with the same value.
    pub(crate) fn key_written(&self, key: &[u8], found: &[u8], revision: i64) {
        let targets = self.table.lock().targets(key, revision);
        for target in targets {
            if let Target::Holder {
                attempt,
                value: Some(value),
            } = target
                && value != found
            {
                attempt.report_lost(LostCause::Taken);
            }
        }
    }

    /// The server has created a watch with its id `server`, and sends what comes after `revision`. False if
    /// no watch was requested.
    pub(crate) fn watch_created(&self, server: i64, revision: i64) -> bool {
        let mut table = self.table.lock();
        let Some(id) = table.ids.created(server) else {
            return false;
        };
        match table.watches.get_mut(&id) {
            Some(watch) => {
                watch.begins = Some(revision + 1);
                if let Some(wake) = watch.target.waiter()
                    && watch.from <= revision
                {
                    wake.notify_one();
                }
            }
            None => table.commands.push_back(Command::Cancel(id)),
        }
        let has_commands = !table.commands.is_empty();
        drop(table);
        if has_commands {
            self.changed.notify_one();
        }
        true
    }

    /// Whether a watch with this id of the server is still needed.
    pub(crate) fn is_watched(&self, server: i64) -> bool {
        let table = self.table.lock();
        let id = table.ids.ours(server);
        id.is_some_and(|id| table.watches.contains_key(&id))
    }

    /// The store has no history before `revision` any more. The next renewal of a holder finds what
    /// its watch may have missed, and a waiter reads.
    pub(crate) fn compacted(&self, revision: i64) {
        for watch in self.table.lock().watches.values_mut() {
            if watch.target.waiter().is_none() {
                watch.from = watch.from.max(revision);
            }
        }
    }
}

#[cfg(test)]
mod tests;

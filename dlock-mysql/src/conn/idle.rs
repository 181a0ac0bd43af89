//! Connections that nobody uses at present. The server ends them after a while; they are ended before that,
//! as nothing reads their sockets and would notice.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use dlock_core::{BootInstant, toolkit::Lock};
use tokio::{sync::Notify, task::JoinSet};

use crate::conn::{connect::Dialer, connection::Link};

/// How long one is kept at the most: a server that was restarted or failed over has ended it, and nobody
/// is told.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// How often they are looked at, at the most.
const SWEEP_MIN: Duration = Duration::from_millis(10);

/// The connections of a locker that are idle.
pub(crate) struct Idle {
    dialer: Arc<Dialer>,
    links: Lock<Links>,
    /// The next one ends sooner than was known, or none is left.
    changed: Notify,
}

#[derive(Default)]
struct Links {
    /// In the order in which they were used.
    links: VecDeque<Link>,
    /// When the task that ends them looks again; none if there is no task.
    next: Option<BootInstant>,
}

impl Idle {
    pub(crate) fn new(dialer: Arc<Dialer>) -> Self {
        Self {
            dialer,
            links: Lock::default(),
            changed: Notify::new(),
        }
    }

    /// The one that was used last, if the server has not ended it meanwhile.
    pub(crate) fn take(&self) -> Option<Link> {
        let now = self.dialer.clock.now();
        let mut links = self.links.lock();
        while let Some(link) = links.links.pop_back() {
            if is_alive(&link, now) {
                return Some(link);
            }
        }
        None
    }

    /// Keeps `link` for the next one, if it may be used again.
    pub(crate) fn keep(self: &Arc<Self>, link: Link) {
        let mut links = self.links.lock();
        // Looked at with the lock, which closing takes after it.
        if !link.is_clean() || self.dialer.is_closed() {
            return;
        }
        let end = end(&link);
        links.links.push_back(link);
        match links.next {
            None => drop(tokio::spawn(Sweeper(Some(self.clone())).run())),
            Some(next) if next <= end => return,
            Some(_) => self.changed.notify_one(),
        }
        links.next = Some(end);
    }

    /// Ends all of them.
    pub(crate) async fn close(&self) {
        let links = std::mem::take(&mut self.links.lock().links);
        self.changed.notify_one();
        self.end_all(links).await;
    }

    /// Takes out those that are too old, and says when the next one will be; `None` if none is left.
    fn sweep(&self) -> (VecDeque<Link>, Option<BootInstant>) {
        let now = self.dialer.clock.now();
        let mut links = self.links.lock();
        // Each has the silence of its last hold, so they end in another order than they were used in.
        let (old, young) = std::mem::take(&mut links.links)
            .into_iter()
            .partition(|link| !is_alive(link, now));
        links.links = young;
        links.next = links.links.iter().map(end).min();
        (old, links.next)
    }

    async fn end_all(&self, links: impl IntoIterator<Item = Link>) {
        let answer_max = self.dialer.config.answer_max;
        let ends = links.into_iter().map(|link| link.close(answer_max));
        ends.collect::<JoinSet<_>>().join_all().await;
    }
}

/// Whether the server has surely not ended it, by its own clock, nor is about to.
fn is_alive(link: &Link, now: BootInstant) -> bool {
    now < end(link)
}

fn end(link: &Link) -> BootInstant {
    let silence = Duration::from_secs(link.silence_max);
    link.used.after(IDLE_MAX.min(silence / 2))
}

/// The task that ends them, while there are any. If its runtime ends, the next one that is kept starts another.
struct Sweeper(Option<Arc<Idle>>);

impl Sweeper {
    async fn run(mut self) {
        while let Some(idle) = &self.0 {
            let (old, next) = idle.sweep();
            let Some(next) = next else {
                // From here on the next one that is kept starts another.
                let idle = self.0.take();
                if let Some(idle) = idle {
                    idle.end_all(old).await;
                }
                return;
            };
            idle.end_all(old).await;
            let clock = &idle.dialer.clock;
            let next = next.max(clock.now().after(SWEEP_MIN));
            tokio::select! {
                () = clock.sleep_until(next) => {}
                () = idle.changed.notified() => {}
            }
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(idle) = self.0.take() {
            idle.links.lock().next = None;
        }
    }
}

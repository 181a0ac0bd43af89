//! The slot of a connection that is made again when it has ended.

use std::{
    fmt,
    future::Future,
    ops::{Deref, DerefMut},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    base::{
        error::{Error, Result},
        lock::Lock,
    },
    toolkit::single_flight::SingleFlight,
};

/// The present connection to a server, and the making of the next one.
///
/// Each connection has a generation. A task that finds its connection broken abandons that generation: a newer
/// connection, which another task has made since, stays. One task at a time connects, and those that wait for it
/// share its failure (K13). A slot that was closed never has a connection again.
///
/// After the first connection, errors of `connect` lose their [hint at the URL](Error::with_url_hint).
///
/// ```
/// use dlock_core::{Result, toolkit::ReconnectSlot};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let slot = ReconnectSlot::default();
/// let connect = || async { Ok("a connection") };
/// let first = slot.get(connect).await?;
/// assert_eq!(*first, "a connection");
///
/// // The connection is broken: the next request makes another one.
/// slot.abandon(first.generation());
/// let second = slot.get(connect).await?;
/// assert!(second.generation() > first.generation());
///
/// // Another request fails on the first connection, too late to matter.
/// assert_eq!(slot.abandon(first.generation()), None);
/// assert_eq!(slot.generation(), Some(second.generation()));
///
/// assert_eq!(slot.close(), Some("a connection"));
/// assert!(slot.get(connect).await.is_err());
/// # Ok(())
/// # }
/// ```
pub struct ReconnectSlot<C>(Arc<Shared<C>>);

/// The wait for a connection.
pub type ConnectFuture<'a, C> = Pin<Box<dyn Future<Output = Result<Connected<C>>> + Send + 'a>>;

struct Shared<C> {
    present: Lock<Present<C>>,
    /// One task at a time connects.
    connecting: SingleFlight<()>,
    closed: AtomicBool,
    hooks: ReconnectHooks<C>,
}

struct Present<C> {
    connected: Option<Connected<C>>,
    /// Of the last connection that was installed.
    generation: u64,
}

/// The hooks of a [`ReconnectSlot`]. By default a connection never ends by itself, and is dropped.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a hook is given by name beside `..ReconnectHooks::default()`"
)]
pub struct ReconnectHooks<C> {
    /// Whether a connection has ended by itself: it then counts as absent.
    pub has_ended: fn(&C) -> bool,
    /// Ends a connection that no caller gets any more: one that was made while the slot was closed, was replaced by
    /// another one, or was still there when the slot was dropped.
    pub discard: fn(C),
}

/// A connection and its generation.
#[derive(Clone, Debug)]
pub struct Connected<C> {
    connection: C,
    generation: u64,
}

impl<C: Clone + Send + 'static> ReconnectSlot<C> {
    /// A slot without a connection.
    #[must_use]
    pub fn new(hooks: ReconnectHooks<C>) -> Self {
        Self(Arc::new(Shared {
            present: Lock::new(Present {
                connected: None,
                generation: 0,
            }),
            connecting: SingleFlight::new(()),
            closed: AtomicBool::new(false),
            hooks,
        }))
    }

    /// The present connection, or one that `connect` makes, within a time-out of its own.
    ///
    /// # Errors
    ///
    /// [`Error::closed`] after [`close`](Self::close); that of `connect`, or of another task's `connect` that ended
    /// during the wait for it.
    ///
    /// # Cancel safety
    ///
    /// The connection is made all the same, for later callers.
    pub async fn get<F>(&self, connect: impl FnOnce() -> F) -> Result<Connected<C>>
    where
        F: Future<Output = Result<C>> + Send + 'static,
    {
        if let Some(connected) = self.current()? {
            return Ok(connected);
        }
        let (slot, connection) = (Self(self.0.clone()), connect());
        let get_or_connect = async move {
            match slot.current()? {
                Some(connected) => Ok(connected),
                None => slot.install(connection.await?),
            }
        };
        self.in_turn(get_or_connect).await
    }

    /// Runs `work` while no other task connects, for other ways to connect than [`get`](Self::get).
    ///
    /// The future is boxed: connecting is rare, and the futures of requests stay small.
    ///
    /// # Errors
    ///
    /// That of `work`, or of another task that connected during the wait for it.
    ///
    /// # Cancel safety
    ///
    /// The work is done all the same.
    pub fn in_turn(
        &self,
        work: impl Future<Output = Result<Connected<C>>> + Send + 'static,
    ) -> ConnectFuture<'_, C> {
        let connecting = &self.0.connecting;
        let shared = self.0.clone();
        let work = async move {
            // The URL has led to the server before.
            let has_connected = shared.present.lock().generation > 0;
            work.await.map_err(|error| match has_connected {
                true => error.without_url_hint(),
                false => error,
            })
        };
        Box::pin(connecting.run(|turn| async move { turn.finish(work.await) }))
    }

    /// Makes `connection` the present one, with the next generation. A former one is discarded.
    ///
    /// # Errors
    ///
    /// [`Error::closed`] after [`close`](Self::close); `connection` is then discarded.
    pub fn install(&self, connection: C) -> Result<Connected<C>> {
        let mut present = self.0.present.lock();
        if self.is_closed() {
            drop(present);
            (self.0.hooks.discard)(connection);
            return Err(Error::closed());
        }
        present.generation += 1;
        let connected = Connected {
            connection,
            generation: present.generation,
        };
        let former = present.connected.replace(connected.clone());
        drop(present);
        if let Some(former) = former {
            (self.0.hooks.discard)(former.connection);
        }
        Ok(connected)
    }

    /// The present connection.
    ///
    /// # Errors
    ///
    /// [`Error::closed`] after [`close`](Self::close).
    pub fn current(&self) -> Result<Option<Connected<C>>> {
        let present = self.0.present.lock();
        if self.is_closed() {
            return Err(Error::closed());
        }
        Ok(self.0.live(&present).cloned())
    }

    /// The generation of the present connection, if there is one.
    #[must_use]
    pub fn generation(&self) -> Option<u64> {
        let present = self.0.present.lock();
        self.0.live(&present).map(Connected::generation)
    }

    /// Removes the connection of this generation, and returns it; the next caller connects. Nothing changes if
    /// another connection is the present one.
    pub fn abandon(&self, generation: u64) -> Option<C> {
        let is_it = |connected: &mut Connected<C>| connected.generation == generation;
        let abandoned = self.0.present.lock().connected.take_if(is_it);
        abandoned.map(Connected::into_inner)
    }

    /// Removes the connection for good, and returns it.
    pub fn close(&self) -> Option<C> {
        let mut present = self.0.present.lock();
        self.0.closed.store(true, Ordering::Release);
        present.connected.take().map(Connected::into_inner)
    }

    /// Whether the slot was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }
}

impl<C: Clone + Send + 'static> Default for ReconnectSlot<C> {
    fn default() -> Self {
        Self::new(ReconnectHooks::default())
    }
}

impl<C> Shared<C> {
    fn live<'a>(&self, present: &'a Present<C>) -> Option<&'a Connected<C>> {
        let connected = present.connected.as_ref();
        connected.filter(|connected| !(self.hooks.has_ended)(connected))
    }
}

impl<C> Drop for Shared<C> {
    fn drop(&mut self) {
        let connected = self.present.lock().connected.take();
        if let Some(connected) = connected {
            (self.hooks.discard)(connected.connection);
        }
    }
}

impl<C> Default for ReconnectHooks<C> {
    fn default() -> Self {
        Self {
            has_ended: |_| false,
            discard: drop,
        }
    }
}

impl<C> Connected<C> {
    /// The number of the connection in the order of those in its slot.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The connection alone.
    #[must_use]
    pub fn into_inner(self) -> C {
        self.connection
    }
}

impl<C> Deref for Connected<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.connection
    }
}

impl<C> DerefMut for Connected<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.connection
    }
}

impl<C> fmt::Debug for ReconnectSlot<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconnectSlot").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

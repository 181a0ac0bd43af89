//! Batching: the requests of many tasks are sent as one.
//!
//! Thousands of renewals, or acquires of many tasks, would cost the store a request each. Requests that come at
//! about the same time are sent together. A member joins only a batch that has not been sent, and takes the
//! batch's [`SentAt`]. A time of its own could be later than the send (K2).

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, MutexGuard},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::base::{
    deadline::SentAt,
    error::{Effect, Error, ErrorKind, Result},
    lock::Lock,
};

/// How long the first member of a windowed batch waits for others.
const WINDOW: Duration = Duration::from_millis(5);

/// How long the first member of an eager batch waits for others at most.
const EAGER_WINDOW: Duration = Duration::from_millis(1);

/// An eager batch is sent as soon as it has this part of the requests that there are at a time.
const EAGER_PART: usize = 2;

/// With each batch so large a part of the requests that there were at a time is forgotten.
const FORGOTTEN_PART: usize = 8;

/// The reply to a batch: when it was sent, and an answer for each member, in their order.
pub type BatchReply<A> = Result<(SentAt, Vec<A>)>;

/// A batch that is sent, as a future of its reply.
pub type BatchFuture<A> = Pin<Box<dyn Future<Output = BatchReply<A>> + Send>>;

/// Combines what many tasks request at about the same time into one request.
///
/// Batches overlap, so that a slow one does not delay the next (K13). Each ends by the time-outs of its
/// own requests.
///
/// ```
/// use dlock_core::{toolkit::Batcher, backend::SentAt, Clock, Result};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let clock = Clock::boottime();
/// let batcher = Batcher::eager(500, move |numbers: Vec<u32>| {
///     let sent = SentAt::now(&clock);
///     // One request with all numbers, and a time-out; then an answer for each.
///     Box::pin(async move { Ok((sent, numbers.iter().map(|number| number * 2).collect())) })
/// });
/// let (first, second) = tokio::join!(batcher.join(1), batcher.join(2));
/// assert_eq!((first?.1, second?.1), (2, 4));
/// # Ok(())
/// # }
/// ```
pub struct Batcher<T, A> {
    inner: Arc<Inner<T, A>>,
}

struct Inner<T, A> {
    size_max: usize,
    gather: Gather,
    send: Box<dyn Fn(Vec<T>) -> BatchFuture<A> + Send + Sync>,
    state: Lock<State<T, A>>,
}

/// How long the first member of a batch waits for others.
#[derive(Clone, Copy)]
enum Gather {
    /// For so long.
    For(Duration),
    /// Until the tasks that are ready to run have run once; at most for [`EAGER_WINDOW`].
    Eagerly,
}

struct State<T, A> {
    pending: Vec<Member<T, A>>,
    /// How many batches were sent: the timer of one does not flush a later one.
    flushed: u64,
    /// How many members were sent and are not answered.
    in_flight: usize,
    /// How many requests there are at a time, as the last batches show.
    at_a_time: usize,
}

struct Member<T, A> {
    item: T,
    answer: oneshot::Sender<Result<(SentAt, A)>>,
}

impl<T: Send + 'static, A: Send + 'static> Batcher<T, A> {
    /// Makes a batcher for requests that no caller waits for, such as renewals: batches of at most
    /// `size_max` members, which are gathered for 5 ms.
    ///
    /// `send` makes the request of a batch: it reads the clock when it sends, answers each member, and has
    /// a time-out.
    pub fn windowed(
        size_max: usize,
        send: impl Fn(Vec<T>) -> BatchFuture<A> + Send + Sync + 'static,
    ) -> Self {
        Self::with(size_max, Gather::For(WINDOW), send)
    }

    /// Makes a batcher for requests that callers wait for, such as acquires.
    ///
    /// A request that comes alone is sent at once. Others are sent together: as soon as they are half of the requests
    /// that there are at a time, when the tasks that are ready to run have run once, or after 1 ms. None waits for the
    /// reply to another batch.
    ///
    /// So two or three batches overlap: the server works on one while the callers of another go on. With a single one,
    /// either the server or the callers would always wait.
    pub fn eager(
        size_max: usize,
        send: impl Fn(Vec<T>) -> BatchFuture<A> + Send + Sync + 'static,
    ) -> Self {
        Self::with(size_max, Gather::Eagerly, send)
    }

    fn with(
        size_max: usize,
        gather: Gather,
        send: impl Fn(Vec<T>) -> BatchFuture<A> + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            pending: Vec::new(),
            flushed: 0,
            in_flight: 0,
            at_a_time: 0,
        };
        Self {
            inner: Arc::new(Inner {
                size_max,
                gather,
                send: Box::new(send),
                state: Lock::new(state),
            }),
        }
    }

    /// For an eager batcher whose requests come one by one, without one pending or in flight. Counts one as in flight
    /// until the result is dropped.
    ///
    /// A caller that has this may send its request by itself, which costs less than a batch of one.
    ///
    /// ```
    /// use dlock_core::{Clock, Result, backend::SentAt, toolkit::Batcher};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let clock = Clock::boottime();
    /// let batcher = Batcher::eager(500, move |numbers: Vec<u32>| {
    ///     let sent = SentAt::now(&clock);
    ///     Box::pin(async move { Ok((sent, numbers)) })
    /// });
    /// let alone = batcher.alone();
    /// assert!(alone.is_some() && batcher.alone().is_none());
    /// drop(alone);
    /// assert!(batcher.alone().is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn alone(&self) -> Option<impl Send + use<T, A>> {
        self.inner.start_alone()
    }

    /// Adds `item` to the next batch, and waits for its answer.
    ///
    /// # Errors
    ///
    /// Why the batch failed; the same for all its members.
    ///
    /// # Cancel safety
    ///
    /// A batch of several goes on without this member. A batch of one is dropped with it: the request may
    /// or may not have been sent.
    pub async fn join(&self, item: T) -> Result<(SentAt, A)> {
        if let Some(started) = self.inner.start_alone() {
            return started.run_alone(item).await;
        }
        let (answer, answered) = oneshot::channel();
        self.inner.add(Member { item, answer });
        let gone = || Error::new(ErrorKind::Unavailable, "the request was cancelled");
        answered
            .await
            .unwrap_or_else(|_| Err(gone().with_effect(Effect::Unknown)))
    }
}

impl<T: Send + 'static, A: Send + 'static> Inner<T, A> {
    /// Starts a batch of one, which needs no task of its own; `None` if there are others.
    fn start_alone(self: &Arc<Self>) -> Option<InFlight<T, A>> {
        let mut state = self.state.lock();
        let is_alone = state.in_flight == 0 && state.pending.is_empty() && self.is_due(&state, 1);
        is_alone.then(|| self.start(&mut state, 1))
    }

    fn start(self: &Arc<Self>, state: &mut State<T, A>, members: usize) -> InFlight<T, A> {
        state.in_flight += members;
        state.at_a_time -= state.at_a_time.div_ceil(FORGOTTEN_PART);
        state.at_a_time = state.at_a_time.max(state.in_flight);
        InFlight {
            inner: self.clone(),
            members,
        }
    }

    fn add(self: &Arc<Self>, member: Member<T, A>) {
        let mut state = self.state.lock();
        state.pending.push(member);
        let count = state.pending.len();
        if count >= self.size_max || self.is_due(&state, count) {
            self.flush(state);
        } else if count == 1 {
            let timer = FlushTimer {
                inner: Some(self.clone()),
                batch: state.flushed,
            };
            // A runtime that ends drops what it is given, which locks the state again.
            drop(state);
            tokio::spawn(timer.elapse());
        }
    }

    /// Whether so many members are enough for a batch.
    fn is_due(&self, state: &State<T, A>, members: usize) -> bool {
        let is_eager = matches!(self.gather, Gather::Eagerly);
        is_eager && members * EAGER_PART >= state.at_a_time
    }

    /// Sends the pending members.
    fn flush(self: &Arc<Self>, mut state: MutexGuard<'_, State<T, A>>) {
        let members = std::mem::take(&mut state.pending);
        if members.is_empty() {
            return;
        }
        state.flushed += 1;
        let started = self.start(&mut state, members.len());
        // A runtime that ends drops what it is given, which locks the state again.
        drop(state);
        // In a task of its own, as a member may be dropped before the others are answered.
        tokio::spawn(started.run(members));
    }

    /// An answer for each, in their order: with one too few, some would get those of others.
    async fn exchange(&self, items: Vec<T>) -> BatchReply<A> {
        let count = items.len();
        let (sent, found) = (self.send)(items).await?;
        if found.len() == count {
            Ok((sent, found))
        } else {
            Err(wrong_count())
        }
    }
}

fn wrong_count() -> Error {
    let why = "the backend returned another number of replies than requests";
    Error::new(ErrorKind::Internal, why).with_effect(Effect::Unknown)
}

/// A batch in flight, until it is dropped.
struct InFlight<T: Send + 'static, A: Send + 'static> {
    inner: Arc<Inner<T, A>>,
    members: usize,
}

impl<T: Send + 'static, A: Send + 'static> InFlight<T, A> {
    async fn run_alone(self, item: T) -> Result<(SentAt, A)> {
        let (sent, mut found) = self.inner.exchange(vec![item]).await?;
        let found = found.pop().ok_or_else(wrong_count)?;
        Ok((sent, found))
    }

    async fn run(self, mut members: Vec<Member<T, A>>) {
        // A member whose caller is gone is left out: an ended lease is not renewed (K4).
        members.retain(|member| !member.answer.is_closed());
        if members.is_empty() {
            return;
        }
        let (items, answers): (Vec<_>, Vec<_>) = members
            .into_iter()
            .map(|member| (member.item, member.answer))
            .unzip();
        match self.inner.exchange(items).await {
            Ok((sent, found)) => {
                for (answer, found) in answers.into_iter().zip(found) {
                    let _ = answer.send(Ok((sent, found)));
                }
            }
            Err(error) => {
                for answer in answers {
                    let _ = answer.send(Err(error.duplicate()));
                }
            }
        }
    }
}

impl<T: Send + 'static, A: Send + 'static> Drop for InFlight<T, A> {
    fn drop(&mut self) {
        let mut state = self.inner.state.lock();
        state.in_flight -= self.members;
    }
}

/// Flushes a batch when its window has elapsed. If the timer's runtime ends first, the members are
/// abandoned; they would block all later ones otherwise.
struct FlushTimer<T: Send + 'static, A: Send + 'static> {
    inner: Option<Arc<Inner<T, A>>>,
    /// The number of the batch.
    batch: u64,
}

impl<T: Send + 'static, A: Send + 'static> FlushTimer<T, A> {
    async fn elapse(mut self) {
        if let Some(inner) = &self.inner {
            match inner.gather {
                Gather::For(window) => tokio::time::sleep(window).await,
                Gather::Eagerly => tokio::select! {
                    biased;
                    () = tokio::task::yield_now() => {}
                    // A task that blocks its thread delays the yield, which no other thread takes over.
                    () = tokio::time::sleep(EAGER_WINDOW) => {}
                },
            }
        }
        if let Some(inner) = self.inner.take() {
            let state = inner.state.lock();
            if state.flushed == self.batch {
                inner.flush(state);
            }
        }
    }
}

impl<T: Send + 'static, A: Send + 'static> Drop for FlushTimer<T, A> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let mut state = inner.state.lock();
            let is_pending = state.flushed == self.batch;
            let abandoned = is_pending.then(|| std::mem::take(&mut state.pending));
            // Wakes their callers, so the state is unlocked first.
            drop(state);
            drop(abandoned);
        }
    }
}

impl<T, A> fmt::Debug for Batcher<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher")
            .field("size_max", &self.inner.size_max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

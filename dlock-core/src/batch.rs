//! Many questions, one request.
//!
//! A store with thousands of held locks is not asked about each of them alone, nor one that many
//! tasks ask at once: what comes at about the same time leaves together. A member joins only a
//! request that has not been sent, and takes that request's [`SentAt`]: its own clock would be later
//! than the question it is answered by (K2).

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, MutexGuard},
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    base::lock::Lock,
    deadline::SentAt,
    error::{Effect, Error, ErrorKind, Result},
};

/// How long the first member of a flight waits for others, if nobody is in a hurry.
const WINDOW: Duration = Duration::from_millis(5);

/// How long it waits at most for others, if somebody waits for the answer.
const PROMPT_WINDOW: Duration = Duration::from_millis(1);

/// What a flight brings back: when it was sent, and the answers of its members in their order.
pub type BatchReply<A> = Result<(SentAt, Vec<A>)>;

/// A request on its way.
pub type BatchFuture<A> = Pin<Box<dyn Future<Output = BatchReply<A>> + Send>>;

/// Joins what many tasks ask at about the same time into one request.
///
/// Flights overlap, so that a slow one does not hold up the next (K13); each ends by the time-outs
/// that its requests have of their own.
pub struct Batcher<T, A> {
    inner: Arc<Inner<T, A>>,
}

struct Inner<T, A> {
    size_max: usize,
    window: Duration,
    /// Whether a flight leaves as soon as it has as many members as are in the air.
    is_prompt: bool,
    launch: Box<dyn Fn(Vec<T>) -> BatchFuture<A> + Send + Sync>,
    gate: Lock<Gate<T, A>>,
}

struct Gate<T, A> {
    boarding: Vec<Member<T, A>>,
    /// How many flights have boarded: the window of one does not end the boarding of a later one.
    boarded: u64,
    /// The members of flights that have left and not landed.
    in_air: usize,
}

struct Member<T, A> {
    item: T,
    answer: oneshot::Sender<Result<(SentAt, A)>>,
}

impl<T: Send + 'static, A: Send + 'static> Batcher<T, A> {
    /// For what nobody waits for, such as renewals: flights of at most `size_max` members, which
    /// gather for 5 ms. `launch` makes the request of a flight: it reads the clock when it sends,
    /// answers each member, and has a time-out.
    pub fn windowed(
        size_max: usize,
        launch: impl Fn(Vec<T>) -> BatchFuture<A> + Send + Sync + 'static,
    ) -> Self {
        Self::with(size_max, WINDOW, false, launch)
    }

    /// For what somebody waits for, such as acquires: one that comes alone leaves at once; those who
    /// come later leave together as soon as they are as many as are in the air, or after 1 ms. So two
    /// or three flights of about the same size overlap, and the server works on one while the members
    /// of another one go on: with a single one in the air, one of them would always wait.
    pub fn eager(
        size_max: usize,
        launch: impl Fn(Vec<T>) -> BatchFuture<A> + Send + Sync + 'static,
    ) -> Self {
        Self::with(size_max, PROMPT_WINDOW, true, launch)
    }

    fn with(
        size_max: usize,
        window: Duration,
        is_prompt: bool,
        launch: impl Fn(Vec<T>) -> BatchFuture<A> + Send + Sync + 'static,
    ) -> Self {
        let gate = Gate {
            boarding: Vec::new(),
            boarded: 0,
            in_air: 0,
        };
        Self {
            inner: Arc::new(Inner {
                size_max,
                window,
                is_prompt,
                launch: Box::new(launch),
                gate: Lock::new(gate),
            }),
        }
    }

    /// Asks for `item`, together with whatever else is asked for at about the same time.
    ///
    /// # Errors
    ///
    /// Why the flight failed; the same for all its members.
    ///
    /// # Cancel safety
    ///
    /// A flight of several goes on without this member. One that left alone is dropped with it: the
    /// request may or may not have been sent.
    pub async fn join(&self, item: T) -> Result<(SentAt, A)> {
        if let Some(airborne) = self.inner.take_off_alone() {
            return airborne.fly_alone(item).await;
        }
        let (answer, answered) = oneshot::channel();
        self.inner.board(Member { item, answer });
        let gone = || Error::new(ErrorKind::Unavailable, "the request was given up");
        answered
            .await
            .unwrap_or_else(|_| Err(gone().with_effect(Effect::Unknown)))
    }
}

impl<T: Send + 'static, A: Send + 'static> Inner<T, A> {
    /// A flight of one, which needs no task of its own; `None` if there are others.
    fn take_off_alone(self: &Arc<Self>) -> Option<Airborne<T, A>> {
        let mut gate = self.gate.lock();
        let is_alone = self.is_prompt && gate.in_air == 0 && gate.boarding.is_empty();
        is_alone.then(|| self.take_off(&mut gate, 1))
    }

    fn take_off(self: &Arc<Self>, gate: &mut Gate<T, A>, members: usize) -> Airborne<T, A> {
        gate.in_air += members;
        Airborne {
            inner: self.clone(),
            members,
        }
    }

    fn board(self: &Arc<Self>, member: Member<T, A>) {
        let mut gate = self.gate.lock();
        gate.boarding.push(member);
        if gate.boarding.len() >= self.size_max || self.is_due(&gate) {
            self.depart(gate);
        } else if gate.boarding.len() == 1 {
            let window = Window {
                inner: Some(self.clone()),
                flight: gate.boarded,
            };
            // A runtime that ends drops what it is given, which locks the gate again.
            drop(gate);
            tokio::spawn(window.pass());
        }
    }

    /// Whether the server has no more to do than those who have boarded would give it.
    fn is_due(&self, gate: &Gate<T, A>) -> bool {
        self.is_prompt && gate.boarding.len() >= gate.in_air
    }

    /// Sends off those who have boarded.
    fn depart(self: &Arc<Self>, mut gate: MutexGuard<'_, Gate<T, A>>) {
        let members = std::mem::take(&mut gate.boarding);
        if members.is_empty() {
            return;
        }
        gate.boarded += 1;
        let airborne = self.take_off(&mut gate, members.len());
        // A runtime that ends drops what it is given, which locks the gate again.
        drop(gate);
        // In a task of its own, as a member may be dropped before the others are answered.
        tokio::spawn(airborne.fly(members));
    }

    /// An answer for each, in their order: with one too few, some would get those of others.
    async fn answered(&self, items: Vec<T>) -> BatchReply<A> {
        let count = items.len();
        let (sent, found) = (self.launch)(items).await?;
        if found.len() == count {
            Ok((sent, found))
        } else {
            Err(unanswered())
        }
    }
}

fn unanswered() -> Error {
    let why = "the store's backend did not answer each of a request's members";
    Error::new(ErrorKind::Internal, why).with_effect(Effect::Unknown)
}

/// A flight in the air; it has landed when this is dropped.
struct Airborne<T: Send + 'static, A: Send + 'static> {
    inner: Arc<Inner<T, A>>,
    members: usize,
}

impl<T: Send + 'static, A: Send + 'static> Airborne<T, A> {
    async fn fly_alone(self, item: T) -> Result<(SentAt, A)> {
        let (sent, mut found) = self.inner.answered(vec![item]).await?;
        let found = found.pop().ok_or_else(unanswered)?;
        Ok((sent, found))
    }

    async fn fly(self, mut members: Vec<Member<T, A>>) {
        // Those that nobody waits for any more stay behind: an ended lease is not renewed (K4).
        members.retain(|member| !member.answer.is_closed());
        if members.is_empty() {
            return;
        }
        let (items, answers): (Vec<_>, Vec<_>) = members
            .into_iter()
            .map(|member| (member.item, member.answer))
            .unzip();
        match self.inner.answered(items).await {
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

impl<T: Send + 'static, A: Send + 'static> Drop for Airborne<T, A> {
    fn drop(&mut self) {
        let mut gate = self.inner.gate.lock();
        gate.in_air -= self.members;
        // A flight ends wherever its member is dropped, and nobody else would send off the next one
        // before its window is over. Without a runtime that one gives them up.
        if self.inner.is_due(&gate) && Handle::try_current().is_ok() {
            self.inner.depart(gate);
        }
    }
}

/// The time in which a flight is boarded. If the runtime that it waits in ends first, its members are
/// given up, or nobody would ever open the next one.
struct Window<T: Send + 'static, A: Send + 'static> {
    inner: Option<Arc<Inner<T, A>>>,
    /// Which one is boarded.
    flight: u64,
}

impl<T: Send + 'static, A: Send + 'static> Window<T, A> {
    async fn pass(mut self) {
        if let Some(inner) = &self.inner {
            tokio::time::sleep(inner.window).await;
        }
        if let Some(inner) = self.inner.take() {
            let gate = inner.gate.lock();
            if gate.boarded == self.flight {
                inner.depart(gate);
            }
        }
    }
}

impl<T: Send + 'static, A: Send + 'static> Drop for Window<T, A> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let mut gate = inner.gate.lock();
            let is_boarding = gate.boarded == self.flight;
            let given_up = is_boarding.then(|| std::mem::take(&mut gate.boarding));
            // Wakes those who wait, with the gate open.
            drop(gate);
            drop(given_up);
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

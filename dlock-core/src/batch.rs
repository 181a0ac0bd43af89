//! Many renewals, one request.
//!
//! A store with thousands of held locks is not asked about each of them alone: what becomes due
//! within [`WINDOW`] leaves together. A member joins only a request that has not been sent, and takes
//! that request's [`Sent`]: its own clock would be later than the question it is answered by (K2).

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{
    deadline::Sent,
    error::{Effect, Error, ErrorKind, Result},
};

/// How long the first member of a flight waits for others.
const WINDOW: Duration = Duration::from_millis(5);

/// What a flight brings back: when it was sent, and the answers of its members in their order.
pub type Landing<A> = Result<(Sent, Vec<A>)>;

/// A request on its way.
pub type Flight<A> = Pin<Box<dyn Future<Output = Landing<A>> + Send>>;

/// Joins what many tasks ask at about the same time into one request.
///
/// Flights overlap, so that a slow one does not hold up the next (K13); each ends by the time-out
/// that it has of its own.
pub struct Batch<T, A> {
    inner: Arc<Inner<T, A>>,
}

struct Inner<T, A> {
    size_max: usize,
    launch: Box<dyn Fn(Vec<T>) -> Flight<A> + Send + Sync>,
    boarding: Mutex<Vec<Member<T, A>>>,
}

struct Member<T, A> {
    item: T,
    answer: oneshot::Sender<Result<(Sent, A)>>,
}

impl<T: Send + 'static, A: Send + 'static> Batch<T, A> {
    /// Flights of at most `size_max` members. `launch` makes the request of a flight: it reads the
    /// clock when it sends, answers each member, and has a time-out.
    pub fn new(
        size_max: usize,
        launch: impl Fn(Vec<T>) -> Flight<A> + Send + Sync + 'static,
    ) -> Self {
        let (launch, boarding) = (Box::new(launch), Mutex::default());
        Self {
            inner: Arc::new(Inner {
                size_max,
                launch,
                boarding,
            }),
        }
    }

    /// Asks for `item`, together with whatever else is asked for within [`WINDOW`].
    ///
    /// # Errors
    ///
    /// Why the flight failed; the same for all its members.
    ///
    /// # Cancel safety
    ///
    /// The flight goes on without this member.
    pub async fn join(&self, item: T) -> Result<(Sent, A)> {
        let (answer, answered) = oneshot::channel();
        self.inner.board(Member { item, answer });
        let gone = || Error::new(ErrorKind::Unavailable, "the request was given up");
        answered
            .await
            .unwrap_or_else(|_| Err(gone().with_effect(Effect::Unknown)))
    }
}

impl<T: Send + 'static, A: Send + 'static> Inner<T, A> {
    fn board(self: &Arc<Self>, member: Member<T, A>) {
        let mut boarding = self.lock();
        boarding.push(member);
        // In tasks of their own, as a member may be dropped before the others are answered.
        if boarding.len() == self.size_max {
            tokio::spawn(self.clone().fly(std::mem::take(&mut *boarding)));
        } else if boarding.len() == 1 {
            tokio::spawn(Window(Some(self.clone())).fly());
        }
    }

    async fn fly(self: Arc<Self>, mut members: Vec<Member<T, A>>) {
        // Those that nobody waits for any more stay behind: an ended lease is not renewed (K4).
        members.retain(|member| !member.answer.is_closed());
        if members.is_empty() {
            return;
        }
        let (items, answers): (Vec<_>, Vec<_>) = members
            .into_iter()
            .map(|member| (member.item, member.answer))
            .unzip();
        match (self.launch)(items).await {
            Ok((sent, found)) => {
                for (answer, found) in answers.into_iter().zip(found) {
                    let _ = answer.send(Ok((sent, found)));
                }
            }
            Err(error) => {
                for answer in answers {
                    let _ = answer.send(Err(error.again()));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Member<T, A>>> {
        self.boarding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time in which a flight is boarded. If the runtime that it waits in ends first, its members are
/// given up, or nobody would ever open the next one.
struct Window<T: Send + 'static, A: Send + 'static>(Option<Arc<Inner<T, A>>>);

impl<T: Send + 'static, A: Send + 'static> Window<T, A> {
    async fn fly(mut self) {
        tokio::time::sleep(WINDOW).await;
        if let Some(inner) = self.0.take() {
            let members = std::mem::take(&mut *inner.lock());
            inner.fly(members).await;
        }
    }
}

impl<T: Send + 'static, A: Send + 'static> Drop for Window<T, A> {
    fn drop(&mut self) {
        if let Some(inner) = self.0.take() {
            let given_up = std::mem::take(&mut *inner.lock());
            drop(given_up);
        }
    }
}

impl<T, A> fmt::Debug for Batch<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("size_max", &self.inner.size_max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    type Sizes = Arc<Mutex<Vec<usize>>>;

    /// Doubles each number, a second after it was sent; fails for an empty answer.
    fn doubling(size_max: usize) -> (Clock, Sizes, Batch<u32, u32>) {
        let (clock, sizes) = (Clock::pausable(), Sizes::default());
        let (seen, reading) = (sizes.clone(), clock.clone());
        let batch = Batch::new(size_max, move |items: Vec<u32>| {
            seen.lock().expect("sizes").push(items.len());
            let sent = Sent::now(&reading);
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if items.contains(&0) {
                    return Err(Error::new(ErrorKind::Denied, "no zero"));
                }
                Ok((sent, items.iter().map(|item| item * 2).collect()))
            })
        });
        (clock, sizes, batch)
    }

    #[tokio::test(start_paused = true)]
    async fn those_within_the_window_leave_together_and_get_their_own_answers() {
        let (clock, sizes, batch) = doubling(500);
        let joined = clock.now();
        let (first, second, third) = tokio::join!(batch.join(1), batch.join(2), batch.join(3));
        let answers = [first, second, third].map(|answer| answer.expect("landed"));
        assert_eq!(answers.map(|(_, answer)| answer), [2, 4, 6]);
        assert_eq!(*sizes.lock().expect("sizes"), [3]);
        for (sent, _) in answers {
            let waited = sent.moment().since(joined);
            assert!(
                waited >= WINDOW && waited < Duration::from_millis(8),
                "{waited:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_joins_what_was_sent() {
        let (clock, sizes, batch) = doubling(500);
        let late = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            (clock.now(), batch.join(2).await.expect("landed"))
        };
        let (first, (joined, (sent, _))) = tokio::join!(batch.join(1), late);
        assert!(first.expect("landed").0 < sent && sent.moment() >= joined);
        assert_eq!(*sizes.lock().expect("sizes"), [1, 1]);
    }

    #[test]
    fn a_runtime_that_ends_while_a_flight_is_boarded_does_not_stop_the_next_one() {
        let runtime = || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
        };
        let clock = Clock::boottime();
        let batch = Batch::<u32, u32>::new(500, move |items| {
            let sent = Sent::now(&clock);
            Box::pin(async move { Ok((sent, items)) })
        });
        let first = async { tokio::time::timeout(Duration::from_millis(1), batch.join(1)).await };
        let first = runtime().expect("runtime").block_on(first);
        assert!(first.is_err(), "still boarding");
        let next = async { tokio::time::timeout(Duration::from_secs(10), batch.join(2)).await };
        let next = runtime().expect("runtime").block_on(next);
        assert_eq!(next.expect("it leaves").expect("landed").1, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_flight_leaves_at_once() {
        let (clock, sizes, batch) = doubling(2);
        let joined = clock.now();
        let (first, second, third) = tokio::join!(batch.join(1), batch.join(2), batch.join(3));
        assert_eq!(first.expect("landed").0.moment(), joined);
        assert!(second.is_ok() && third.is_ok());
        assert_eq!(*sizes.lock().expect("sizes"), [2, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_everybodys_and_the_dropped_stay_behind() {
        let (_, sizes, batch) = doubling(500);
        let (failed, also) = tokio::join!(batch.join(0), batch.join(1));
        for error in [failed, also].map(|answer| answer.expect_err("denied")) {
            assert_eq!(error.kind(), ErrorKind::Denied);
        }
        let dropped = tokio::time::timeout(Duration::from_millis(1), batch.join(7)).await;
        assert!(dropped.is_err());
        assert_eq!(batch.join(8).await.expect("landed").1, 16);
        assert_eq!(*sizes.lock().expect("sizes"), [2, 1]);
    }
}

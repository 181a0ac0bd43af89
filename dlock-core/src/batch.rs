//! Many questions, one request.
//!
//! A store with thousands of held locks is not asked about each of them alone, nor one that many
//! tasks ask at once: what comes at about the same time leaves together. A member joins only a
//! request that has not been sent, and takes that request's [`Sent`]: its own clock would be later
//! than the question it is answered by (K2).

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    deadline::Sent,
    error::{Effect, Error, ErrorKind, Result},
};

/// How long the first member of a flight waits for others, if nobody is in a hurry.
const WINDOW: Duration = Duration::from_millis(5);

/// How long it waits at most for the flight before it to land, if somebody waits for the answer.
const PROMPT_WINDOW: Duration = Duration::from_millis(1);

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
    window: Duration,
    /// Whether a flight leaves as soon as no other one is in the air.
    is_prompt: bool,
    launch: Box<dyn Fn(Vec<T>) -> Flight<A> + Send + Sync>,
    gate: Mutex<Gate<T, A>>,
}

struct Gate<T, A> {
    boarding: Vec<Member<T, A>>,
    /// Flights that have left and not landed.
    in_air: usize,
}

struct Member<T, A> {
    item: T,
    answer: oneshot::Sender<Result<(Sent, A)>>,
}

impl<T: Send + 'static, A: Send + 'static> Batch<T, A> {
    /// For what nobody waits for, such as renewals: flights of at most `size_max` members, which
    /// gather for 5 ms. `launch` makes the request of a flight: it reads the clock when it sends,
    /// answers each member, and has a time-out.
    pub fn new(
        size_max: usize,
        launch: impl Fn(Vec<T>) -> Flight<A> + Send + Sync + 'static,
    ) -> Self {
        Self::with(size_max, WINDOW, false, launch)
    }

    /// For what somebody waits for, such as acquires: one that comes alone leaves at once; those who
    /// come while it is in the air leave together when it has landed, or after 1 ms.
    pub fn prompt(
        size_max: usize,
        launch: impl Fn(Vec<T>) -> Flight<A> + Send + Sync + 'static,
    ) -> Self {
        Self::with(size_max, PROMPT_WINDOW, true, launch)
    }

    fn with(
        size_max: usize,
        window: Duration,
        is_prompt: bool,
        launch: impl Fn(Vec<T>) -> Flight<A> + Send + Sync + 'static,
    ) -> Self {
        let gate = Gate {
            boarding: Vec::new(),
            in_air: 0,
        };
        Self {
            inner: Arc::new(Inner {
                size_max,
                window,
                is_prompt,
                launch: Box::new(launch),
                gate: Mutex::new(gate),
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
    /// The flight goes on without this member.
    pub async fn join(&self, item: T) -> Result<(Sent, A)> {
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
        let mut gate = self.lock();
        let is_alone = self.is_prompt && gate.in_air == 0 && gate.boarding.is_empty();
        is_alone.then(|| self.take_off(&mut gate))
    }

    fn take_off(self: &Arc<Self>, gate: &mut Gate<T, A>) -> Airborne<T, A> {
        gate.in_air += 1;
        Airborne(self.clone())
    }

    fn board(self: &Arc<Self>, member: Member<T, A>) {
        let mut gate = self.lock();
        gate.boarding.push(member);
        let count = gate.boarding.len();
        drop(gate);
        if count == self.size_max {
            self.depart();
        } else if count == 1 {
            tokio::spawn(Window(Some(self.clone())).pass());
        }
    }

    /// Sends off those who have boarded.
    fn depart(self: &Arc<Self>) {
        let mut gate = self.lock();
        let members = std::mem::take(&mut gate.boarding);
        let airborne = (!members.is_empty()).then(|| self.take_off(&mut gate));
        // A runtime that ends drops what it is given, which locks the gate again.
        drop(gate);
        if let Some(airborne) = airborne {
            // In a task of its own, as a member may be dropped before the others are answered.
            tokio::spawn(airborne.fly(members));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Gate<T, A>> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A flight in the air; it has landed when this is dropped.
struct Airborne<T: Send + 'static, A: Send + 'static>(Arc<Inner<T, A>>);

impl<T: Send + 'static, A: Send + 'static> Airborne<T, A> {
    async fn fly_alone(self, item: T) -> Result<(Sent, A)> {
        let (sent, mut found) = (self.0.launch)(vec![item]).await?;
        let nothing = || Error::new(ErrorKind::Internal, "a flight without an answer");
        let found = found.pop().ok_or_else(nothing);
        found
            .map(|found| (sent, found))
            .map_err(|error| error.with_effect(Effect::Unknown))
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
        match (self.0.launch)(items).await {
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
}

impl<T: Send + 'static, A: Send + 'static> Drop for Airborne<T, A> {
    fn drop(&mut self) {
        let mut gate = self.0.lock();
        gate.in_air -= 1;
        let is_last = gate.in_air == 0;
        drop(gate);
        // Without a runtime those who board are given up by their window.
        if self.0.is_prompt && is_last && Handle::try_current().is_ok() {
            self.0.depart();
        }
    }
}

/// The time in which a flight is boarded. If the runtime that it waits in ends first, its members are
/// given up, or nobody would ever open the next one.
struct Window<T: Send + 'static, A: Send + 'static>(Option<Arc<Inner<T, A>>>);

impl<T: Send + 'static, A: Send + 'static> Window<T, A> {
    async fn pass(mut self) {
        if let Some(inner) = &self.0 {
            tokio::time::sleep(inner.window).await;
        }
        if let Some(inner) = self.0.take() {
            inner.depart();
        }
    }
}

impl<T: Send + 'static, A: Send + 'static> Drop for Window<T, A> {
    fn drop(&mut self) {
        if let Some(inner) = self.0.take() {
            let given_up = std::mem::take(&mut inner.lock().boarding);
            // Wakes those who wait, with the gate open.
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

    /// Doubles each number, a second after it was sent; fails for a zero.
    fn doubling(size_max: usize) -> (Clock, Sizes, Batch<u32, u32>) {
        doubling_in(size_max, WINDOW, false)
    }

    fn doubling_in(
        size_max: usize,
        window: Duration,
        is_prompt: bool,
    ) -> (Clock, Sizes, Batch<u32, u32>) {
        let (clock, sizes) = (Clock::pausable(), Sizes::default());
        let (seen, reading) = (sizes.clone(), clock.clone());
        let batch = Batch::with(size_max, window, is_prompt, move |items: Vec<u32>| {
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

    fn prompt() -> (Clock, Sizes, Batch<u32, u32>) {
        doubling_in(500, Duration::from_secs(60), true)
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_alone_leaves_at_once_and_the_others_when_it_has_landed() {
        let (clock, sizes, batch) = prompt();
        let joined = clock.now();
        let (first, second, third) = tokio::join!(batch.join(1), batch.join(2), batch.join(3));
        assert_eq!(first.expect("landed").0.moment(), joined);
        let second_after = joined.after(Duration::from_secs(1));
        for (answer, expected) in [(second, 4), (third, 6)] {
            let (sent, answer) = answer.expect("landed");
            assert_eq!((sent.moment() >= second_after, answer), (true, expected));
        }
        assert_eq!(*sizes.lock().expect("sizes"), [1, 2]);
        assert!(
            clock.now().since(joined) < Duration::from_secs(3),
            "no window was waited for"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_flight_holds_nobody_up_for_longer_than_the_window() {
        let (clock, _, batch) = doubling_in(500, PROMPT_WINDOW, true);
        let joined = clock.now();
        let (_, second) = tokio::join!(batch.join(1), batch.join(2));
        let waited = second.expect("landed").0.moment().since(joined);
        assert!(waited < 3 * PROMPT_WINDOW, "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flight_that_is_dropped_lets_the_next_one_leave() {
        let (clock, sizes, batch) = prompt();
        let joined = clock.now();
        let short = Duration::from_millis(10);
        let dropped = async { tokio::time::timeout(short, batch.join(1)).await };
        let (dropped, second) = tokio::join!(dropped, batch.join(2));
        assert!(dropped.is_err());
        let waited = second.expect("landed").0.moment().since(joined);
        assert!(waited <= 2 * short, "{waited:?}");
        assert_eq!(*sizes.lock().expect("sizes"), [1, 1]);
    }
}

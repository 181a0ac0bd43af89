use tokio::task::JoinSet;

use super::*;
use crate::base::clock::Clock;

type Sizes = Arc<Lock<Vec<usize>>>;

/// Doubles each number, a second after it was sent; fails for a zero.
fn doubling(size_max: usize) -> (Clock, Sizes, Batcher<u32, u32>) {
    doubling_in(size_max, Gather::For(WINDOW))
}

fn doubling_in(size_max: usize, gather: Gather) -> (Clock, Sizes, Batcher<u32, u32>) {
    let (clock, sizes) = (Clock::pausable(), Sizes::default());
    let (seen, reading) = (sizes.clone(), clock.clone());
    let batch = Batcher::with(size_max, gather, move |items: Vec<u32>| {
        seen.lock().push(items.len());
        let sent = SentAt::now(&reading);
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
async fn members_of_one_window_are_sent_together_and_get_their_own_answers() {
    let (clock, sizes, batch) = doubling(500);
    let joined = clock.now();
    let (first, second, third) = tokio::join!(batch.join(1), batch.join(2), batch.join(3));
    let answers = [first, second, third].map(|answer| answer.expect("answered"));
    assert_eq!(answers.map(|(_, answer)| answer), [2, 4, 6]);
    assert_eq!(*sizes.lock(), [3]);
    for (sent, _) in answers {
        let waited = sent.instant().since(joined);
        assert!(
            waited >= WINDOW && waited < Duration::from_millis(8),
            "{waited:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_member_joins_a_batch_that_was_sent() {
    let (clock, sizes, batch) = doubling(500);
    let late = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        (clock.now(), batch.join(2).await.expect("answered"))
    };
    let (first, (joined, (sent, _))) = tokio::join!(batch.join(1), late);
    assert!(first.expect("answered").0 < sent && sent.instant() >= joined);
    assert_eq!(*sizes.lock(), [1, 1]);
}

#[test]
fn a_runtime_that_ends_while_a_batch_is_gathered_does_not_stop_the_next_one() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    let clock = Clock::boottime();
    let batch = Batcher::<u32, u32>::windowed(500, move |items| {
        let sent = SentAt::now(&clock);
        Box::pin(async move { Ok((sent, items)) })
    });
    let first = async { tokio::time::timeout(Duration::from_millis(1), batch.join(1)).await };
    let first = runtime().expect("runtime").block_on(first);
    assert!(first.is_err(), "still gathered");
    let next = async { tokio::time::timeout(Duration::from_secs(10), batch.join(2)).await };
    let next = runtime().expect("runtime").block_on(next);
    assert_eq!(next.expect("it is sent").expect("answered").1, 2);
}

#[tokio::test(start_paused = true)]
async fn a_full_batch_is_sent_at_once() {
    let (clock, sizes, batch) = doubling(2);
    let joined = clock.now();
    let (first, second, third) = tokio::join!(batch.join(1), batch.join(2), batch.join(3));
    assert_eq!(first.expect("answered").0.instant(), joined);
    assert!(second.is_ok() && third.is_ok());
    assert_eq!(*sizes.lock(), [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_that_of_all_members_and_the_dropped_are_left_out() {
    let (_, sizes, batch) = doubling(500);
    let (failed, also) = tokio::join!(batch.join(0), batch.join(1));
    for error in [failed, also].map(|answer| answer.expect_err("denied")) {
        assert_eq!(error.kind(), ErrorKind::Denied);
    }
    let dropped = tokio::time::timeout(Duration::from_millis(1), batch.join(7)).await;
    assert!(dropped.is_err());
    assert_eq!(batch.join(8).await.expect("answered").1, 16);
    assert_eq!(*sizes.lock(), [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_timer_of_one_batch_does_not_flush_a_later_one() {
    let (clock, sizes, batch) = doubling(2);
    let joined = clock.now();
    let after = async |ms, item| {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        batch.join(item).await.expect("answered").0.instant()
    };
    let (_, full, later) = tokio::join!(after(0, 1), after(3, 2), after(4, 3));
    assert!(full.since(joined) < Duration::from_millis(4));
    let waited = later.since(joined);
    assert!(waited >= Duration::from_millis(4) + WINDOW, "{waited:?}");
    assert_eq!(*sizes.lock(), [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_too_few_is_the_failure_of_all_members() {
    let clock = Clock::pausable();
    let batch = Batcher::<u32, u32>::windowed(500, move |mut items| {
        let sent = SentAt::now(&clock);
        items.remove(0);
        Box::pin(async move { Ok((sent, items)) })
    });
    let (first, second) = tokio::join!(batch.join(1), batch.join(2));
    for error in [first, second].map(|answer| answer.expect_err("whose?")) {
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(error.effect(), Effect::Unknown);
    }
}

fn eager() -> (Clock, Sizes, Arc<Batcher<u32, u32>>) {
    let (clock, sizes, batch) = doubling_in(500, Gather::Eagerly);
    (clock, sizes, Arc::new(batch))
}

/// When each of `count` requests was sent that tasks make at one moment.
async fn burst(batch: &Arc<Batcher<u32, u32>>, count: u32) -> Vec<SentAt> {
    let mut tasks = JoinSet::new();
    for number in 1..=count {
        let batch = batch.clone();
        tasks.spawn(async move {
            let (sent, answer) = batch.join(number).await.expect("answered");
            assert_eq!(answer, 2 * number);
            sent
        });
    }
    tasks.join_all().await
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_moment_are_sent_in_it_together() {
    let (clock, sizes, batch) = eager();
    // How many there are at a time is not known the first time.
    for most in [9, 4] {
        let now = clock.now();
        sizes.lock().clear();
        let sent = burst(&batch, 40).await;
        assert!(sent.iter().all(|sent| sent.instant() == now));
        let sizes = sizes.lock();
        assert!((2..=most).contains(&sizes.len()), "{sizes:?}");
        assert_eq!(sizes.iter().sum::<usize>(), 40);
    }
}

#[tokio::test(start_paused = true)]
async fn no_request_waits_for_the_reply_to_another_batch() {
    let (clock, sizes, batch) = eager();
    let late = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let joined = clock.now();
        let (sent, _) = batch.join(1).await.expect("answered");
        (joined, sent)
    };
    let (_, (joined, sent)) = tokio::join!(burst(&batch, 40), late);
    assert_eq!(sent.instant(), joined);
    assert_eq!(sizes.lock().last(), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn requests_that_come_one_by_one_are_soon_sent_alone_again() {
    let (_, sizes, batch) = eager();
    burst(&batch, 40).await;
    assert!(batch.alone().is_none(), "there may be others in a moment");
    for _ in 0..30 {
        batch.join(1).await.expect("answered");
    }
    assert!(batch.alone().is_some());
    assert_eq!(sizes.lock().last(), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_one_that_is_dropped_is_in_flight_no_more() {
    let (_, _, batch) = eager();
    let short = Duration::from_millis(10);
    let dropped = tokio::time::timeout(short, batch.join(1)).await;
    assert!(dropped.is_err());
    assert!(batch.alone().is_some());
}

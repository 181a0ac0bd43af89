//! Many waiters on one name: what each costs must not depend on how many there are.

use dlock_core::{Clock, Locker, memory::Memory};

use crate::figure::{Figure, float, heap};

const FEW: usize = 1_000;
const MANY: usize = 10_000;
/// The median of so many interleaved samples counts.
const SAMPLES: usize = 5;

pub(crate) fn measure() -> Vec<Figure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("runtime").block_on(async {
        let (mut few, mut many) = (Vec::new(), Vec::new());
        for _ in 0..SAMPLES {
            for _ in 0..MANY / FEW {
                few.push(serve(FEW).await);
            }
            many.push(serve(MANY).await);
        }
        let [(few_ns, few_bytes), (many_ns, many_bytes)] = [few, many].map(medians);
        println!("a waiter on one name, queued and served:");
        println!("  one of {FEW:>6}   {few_ns:>8.0} ns, {few_bytes:>5.0} bytes");
        println!("  one of {MANY:>6}   {many_ns:>8.0} ns, {many_bytes:>5.0} bytes");
        let time = "time of a waiter among 10,000, of one among 1,000".into();
        let heap = "heap of a waiter among 10,000, of one among 1,000".into();
        vec![
            Figure {
                what: time,
                is: many_ns / few_ns,
                at_most: 1.5,
            },
            Figure {
                what: heap,
                is: many_bytes / few_bytes,
                at_most: 1.5,
            },
        ]
    })
}

/// Nanoseconds and bytes that each of `count` waiters costs, from queueing to its release.
async fn serve(count: usize) -> (f64, f64) {
    let clock = Clock::boottime();
    let locks = Locker::builder(Memory::new()).build().expect("locker");
    let holder = locks.acquire("name").await.expect("free");
    let (start, before) = (clock.now(), heap().0);
    let mut tasks = Vec::with_capacity(count);
    for _ in 0..count {
        let locks = locks.clone();
        tasks.push(tokio::spawn(async move {
            let guard = locks
                .acquire("name")
                .wait_forever()
                .await
                .expect("in its turn");
            guard.release().await.expect("held");
        }));
    }
    // All have queued when the last one's task has been polled.
    while tokio::runtime::Handle::current()
        .metrics()
        .global_queue_depth()
        > 0
    {
        tokio::task::yield_now().await;
    }
    let bytes = heap().0.saturating_sub(before);
    holder.release().await.expect("held");
    for task in tasks {
        task.await.expect("no panic");
    }
    let nanos = clock.now().since(start).as_secs_f64() * 1e9;
    (nanos / float(count), float(bytes) / float(count))
}

fn medians(samples: Vec<(f64, f64)>) -> (f64, f64) {
    let median = |mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    };
    let (time, bytes) = samples.into_iter().unzip();
    (median(time), median(bytes))
}

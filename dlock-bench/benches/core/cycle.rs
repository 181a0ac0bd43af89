//! An uncontended cycle, as a multiple of one spawn and join of the same run, and the tasks that it spawns.

use std::time::Duration;

use dlock_core::{
    Capabilities, Clock, Holder, LockName, Locker, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, async_trait},
    memory::Memory,
};

use crate::figure::{Figure, float, heap};

const ROUNDS: usize = 20_000;
/// The median of so many interleaved samples counts: a noisy machine must not decide.
const SAMPLES: usize = 15;

pub(crate) fn measure() -> Vec<Figure> {
    println!("an uncontended cycle through the locker, tracing and metrics without a receiver:");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("runtime");
    let (ratio, spawned) = runtime.block_on(async {
        // In a task, as the main thread would cross to the workers at each spawn.
        tokio::spawn(async { (compare().await, spawned().await) })
            .await
            .expect("no panic")
    });
    vec![
        Figure {
            what: "cycle, in spawns and joins".into(),
            is: ratio,
            at_most: 8.0,
        },
        Figure {
            what: "spawned tasks a cycle".into(),
            is: spawned,
            at_most: 2.0,
        },
    ]
}

/// How many tasks a cycle spawns.
async fn spawned() -> f64 {
    let memory = Locker::builder(Memory::new()).build().expect("locker");
    // One each, and the next number: so they are numbered in their order.
    assert_eq!(spawned_by(spawn_and_join()).await, float(ROUNDS));
    spawned_by(cycle(&memory)).await / float(ROUNDS)
}

/// How many tasks were spawned in this time.
async fn spawned_by(work: impl Future<Output = ()>) -> f64 {
    let before = number_of_a_task().await;
    work.await;
    let after = number_of_a_task().await;
    float(after - before - 1)
}

async fn number_of_a_task() -> usize {
    let task = tokio::spawn(async { tokio::task::id().to_string() });
    let number = task.await.expect("no panic");
    number.parse().expect("a number")
}

async fn compare() -> f64 {
    let memory = Locker::builder(Memory::new()).build().expect("locker");
    let nothing = Locker::builder(Nothing).build().expect("locker");
    let [mut spawns, mut cycles, mut bare, mut clocks] = [const { Vec::new() }; 4];
    for _ in 0..SAMPLES {
        spawns.push(timed(spawn_and_join).await);
        cycles.push(timed(|| cycle(&memory)).await);
        bare.push(timed(|| cycle(&nothing)).await);
        clocks.push(timed(read_clock).await);
    }
    let [spawn, cycle_time, bare, clock] = [spawns, cycles, bare, clocks].map(median);
    let before = heap().1;
    cycle(&memory).await;
    let allocations = (heap().1 - before) / ROUNDS;
    println!("  one spawn and join            {spawn:>6.0} ns");
    println!("  one cycle                     {cycle_time:>6.0} ns, {allocations} allocations");
    println!("    of which core               {bare:>6.0} ns (with a store that does nothing)");
    println!(
        "    of which the memory store   {:>6.0} ns",
        cycle_time - bare
    );
    println!("    one clock read              {clock:>6.0} ns");
    cycle_time / spawn
}

async fn spawn_and_join() {
    for _ in 0..ROUNDS {
        tokio::spawn(async {}).await.expect("no panic");
    }
}

async fn cycle(locks: &Locker) {
    let name = LockName::new("name").expect("name");
    for _ in 0..ROUNDS {
        locks
            .acquire(&name)
            .await
            .expect("free")
            .release()
            .await
            .expect("held");
    }
}

async fn read_clock() {
    let clock = Clock::boottime();
    for _ in 0..ROUNDS {
        std::hint::black_box(clock.now());
    }
}

/// Nanoseconds of one of [`ROUNDS`].
async fn timed<F: Future<Output = ()>>(work: impl FnOnce() -> F) -> f64 {
    let clock = Clock::boottime();
    let start = clock.now();
    work().await;
    clock.now().since(start).as_secs_f64() * 1e9 / float(ROUNDS)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Grants everything and knows nothing.
#[derive(Debug)]
struct Nothing;

#[async_trait]
impl DistributedLock for Nothing {
    fn capabilities(&self) -> Capabilities {
        Memory::new().capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let token = Token::new(1).expect("not zero");
        Ok(request.granted(request.sent_now(), request.ttl, token, ()))
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        Ok(lease.renewed(lease.sent_now(), Duration::from_secs(30)))
    }

    async fn release(&self, _: &Lease) -> Result<()> {
        Ok(())
    }

    async fn inspect(&self, _: &LockName) -> Result<Option<Holder>> {
        Ok(None)
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

//! A hundred thousand held, auto-renewed locks in one locker.

use dlock_core::{Locker, memory::Memory};

use crate::figure::{Figure, float, heap};

const LOCKS: usize = 100_000;

pub(crate) fn measure() -> Vec<Figure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("runtime").block_on(async {
        let locks = Locker::builder(Memory::new()).build().expect("locker");
        let mut guards = Vec::with_capacity(LOCKS);
        let before = heap().0;
        for i in 0..LOCKS {
            guards.push(locks.acquire(format!("seat/{i}")).await.expect("free"));
        }
        let each = float(heap().0 - before) / float(LOCKS);
        let tasks = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        drop(guards);
        vec![
            Figure {
                what: "bytes of heap each held lock costs".into(),
                is: each,
                at_most: 700.0,
            },
            Figure {
                what: "tasks, for 100,000 held locks".into(),
                is: float(tasks),
                at_most: 2.0,
            },
        ]
    })
}

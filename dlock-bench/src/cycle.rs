//! An uncontended acquire and release.

use std::time::Duration;

use dlock_core::{AttemptId, LockName, Locker, Result, backend::async_trait};

use crate::{
    Baseline, Row,
    baselines::Floor,
    interleave::{self, Contender},
    workload::Cycle,
};

/// Takes and releases locks with `tasks` tasks, each on a name of its own, for `run_for` after a tenth of it as
/// warm-up. If there is a `floor`, the raw driver does the same in turns.
pub(crate) async fn measure(
    locks: &Locker,
    floor: Option<&dyn Floor>,
    tasks: usize,
    run_for: Duration,
) -> Result<Row> {
    let run = run_id(locks).await?;
    let locked = (0..tasks).map(|task| Locked::on(locks, &format!("dlock-bench/{run}/{task}")));
    let mut dlock = Contender::new(locked.collect::<Result<_>>()?);
    let server = floor.and_then(Floor::server);
    let Some(floor) = floor else {
        interleave::alone(&mut dlock, run_for).await?;
        return Ok(Row::new("cycle", tasks, dlock.sum_up()?));
    };
    // As long as dlock's own names.
    let raw = (0..tasks).map(|task| floor.task(&format!("dlock-floor/{run}/{task}")));
    let mut others = vec![Contender::new(raw.collect())];
    if let Some(lock) = floor.own_lock() {
        let own = (0..tasks).map(|task| lock.task(&format!("dlock-own/{run}/{task}")));
        others.push(Contender::new(own.collect()));
    }
    let ratios = interleave::in_turns(&mut dlock, &mut others, server, run_for).await?;
    let mut row = Row::new("cycle", tasks, dlock.sum_up()?);
    let names = [Baseline::FLOOR, Baseline::OWN_LOCK];
    for ((side, [low, ratio, high]), what) in others.iter().zip(ratios).zip(names) {
        row = row.beside(what, side.sum_up()?, ratio, Some([low, high]));
    }
    Ok(row)
}

/// dlock's own cycle.
struct Locked {
    locks: Locker,
    name: LockName,
}

impl Locked {
    fn on(locks: &Locker, name: &str) -> Result<Box<dyn Cycle>> {
        Ok(Box::new(Self {
            locks: locks.clone(),
            name: LockName::new(name)?,
        }))
    }
}

#[async_trait]
impl Cycle for Locked {
    async fn cycle(&mut self) -> Result<()> {
        self.locks.acquire(&self.name).await?.release().await
    }
}

/// A part of names that no other run uses: two benchmarks of one store must not wait for each other.
async fn run_id(locks: &Locker) -> Result<AttemptId> {
    let guard = locks.acquire("dlock-bench").await?;
    let id = guard.id();
    guard.release().await?;
    Ok(id)
}

//! The sides of a store in the rounds.

use std::{sync::Arc, time::Duration};

use dlock_core::Result;
use dlock_raw::baseline::{Cycle, Floor, NewName};

use crate::{
    data::{Side, SideKey, Workload},
    plan::Plan,
    rounds::{Entrant, Meter},
    sides::{Cycling, Exchanging, HandingOver, Locked, NewNames, OneShots},
    store::Store,
    sweep::Sweep,
    worker::{HOLD, Worker},
};

/// The part of a slice that an exchange runs for: there are many in any slice.
const EXCHANGE_WEIGHT: f64 = 0.5;

/// The sides of a store, which has this number in the run. `tasks` are the numbers of tasks of the cycles.
///
/// # Errors
///
/// When a worker cannot be started, or the store does not answer.
pub(crate) async fn of_store(store: &Store, number: u32, tasks: &[u32]) -> Result<Vec<Entrant>> {
    let maker = Maker {
        store,
        number,
        meter: Arc::new(Meter {
            pid: store.pid,
            floor: store.floor.clone(),
        }),
    };
    let mut entrants = Vec::new();
    for &tasks in tasks {
        entrants.extend(maker.cycles(tasks)?);
    }
    // Without a list of what they left they could not be removed.
    if Sweep::can_list(&store.config) {
        let sweep = Sweep::open(&store.config, store.floor.clone()).await?;
        entrants.extend(maker.new_names(&Arc::new(sweep)));
    }
    entrants.extend(maker.exchanges());
    entrants.extend(maker.processes().await?);
    Ok(entrants)
}

struct Maker<'a> {
    store: &'a Store,
    number: u32,
    meter: Arc<Meter>,
}

impl Maker<'_> {
    fn key(&self, workload: Workload, tasks: u32, side: Side) -> SideKey {
        SideKey {
            store: self.number,
            workload,
            tasks,
            side,
        }
    }

    /// The names have the same length on all sides: they are a part of each request.
    fn cycles(&self, tasks: u32) -> Result<Vec<Entrant>> {
        let key = |side| self.key(Workload::Cycle, tasks, side);
        let entrant = |side, cycling| Entrant::new(key(side), cycling, 1.0, &self.meter);
        let names = |what: &str| self.store.names.many(&format!("{what}-{tasks}"), tasks);
        let locked = |what| Cycling::locked(&self.store.locks, &names(what));
        let mut sides = vec![
            entrant(Side::Dlock, locked("first")?),
            entrant(Side::Again, locked("again")?),
        ];
        let Some(floor) = &self.store.floor else {
            return Ok(sides);
        };
        let cycling = |names: Vec<String>, task: &dyn Fn(&str) -> Box<dyn Cycle>| {
            Cycling::new(names.iter().map(|name| task(name)))
        };
        let alone = cycling(names("floor"), &|name| floor.task(name));
        sides.push(entrant(Side::Floor, alone));
        if let Some(lock) = floor.own_lock() {
            let own = cycling(names("owned"), &|name| lock.task(name));
            sides.push(entrant(Side::OwnLock, own));
        }
        Ok(sides)
    }

    /// The names have the same length on both sides.
    fn new_names(&self, sweep: &Arc<Sweep>) -> Vec<Entrant> {
        let mut sides = Vec::new();
        for &tasks in Plan::tasks_of_new_names() {
            let mut add = |side, what: &str, make: &dyn Fn() -> Box<dyn NewName>| {
                let names = self.store.names.numbered(&format!("{what}-{tasks}"), tasks);
                let key = self.key(Workload::NewNames, tasks, side);
                let new_names = NewNames::new(names, sweep, make);
                sides.push(Entrant::new(key, new_names, 1.0, &self.meter));
            };
            let locks = &self.store.locks;
            add(Side::Dlock, "once", &|| Box::new(Locked(locks.clone())));
            if let Some(floor) = &self.store.floor {
                add(Side::Floor, "bare", &|| floor.new_names());
            }
        }
        sides
    }

    /// Exchanges back to back, as a cycle has them, and with the pause of a hand-over.
    fn exchanges(&self) -> Vec<Entrant> {
        let Some(floor) = self
            .store
            .floor
            .as_ref()
            .filter(|floor| floor.server().is_some())
        else {
            return Vec::new();
        };
        let entrant = |workload, pause: Option<Duration>| {
            let floor: Arc<dyn Floor> = floor.clone();
            let side = Exchanging { floor, pause };
            let key = self.key(workload, 1, Side::Floor);
            Entrant::new(key, side, EXCHANGE_WEIGHT, &self.meter)
        };
        vec![
            entrant(Workload::Exchange, None),
            entrant(Workload::HandOver, Some(HOLD)),
        ]
    }

    async fn processes(&self) -> Result<[Entrant; 2]> {
        let handing_over = HandingOver {
            locks: self.store.locks.clone(),
            name: self.store.names.make("hand-over"),
            worker: Worker::start(&self.store.worker, &[]).await?,
        };
        let one_shots = OneShots {
            command: self.store.worker.clone(),
            name: self.store.names.make("one-shot"),
        };
        let hand_over = self.key(Workload::HandOver, 2, Side::Dlock);
        let one_shot = self.key(Workload::OneShot, 1, Side::Dlock);
        Ok([
            Entrant::new(hand_over, handing_over, 1.0, &self.meter),
            Entrant::new(one_shot, one_shots, 1.0, &self.meter),
        ])
    }
}

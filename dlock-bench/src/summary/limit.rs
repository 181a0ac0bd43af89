//! The limit that theory sets: exchanges take their time, and a processor does one thing at a time.

use super::{
    cycles::cpu_of_cycle,
    recorded::{EXCHANGES_OF_CYCLE, Summary},
};
use crate::data::{Ceiling, Limit, Side, Throughput, Workload};

impl Summary<'_> {
    /// The limit of cycles by a number of tasks; `None` for a store without a server.
    pub(super) fn limit(
        &self,
        store: u32,
        tasks: u32,
        dlock: &Throughput,
        is_local: bool,
    ) -> Option<Limit> {
        let exchange = self.record(store, Workload::Exchange, 1, Side::Floor)?;
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of an exchange")]
        let exchange_ns = exchange.durations.latency()?.p50_ns as f64;
        let slope = f64::from(tasks) * 1e9 / (EXCHANGES_OF_CYCLE * exchange_ns);
        let ceiling = self.ceiling(store, is_local);
        let limit = ceiling.map_or(slope, |(rate, _)| rate.min(slope));
        Some(Limit {
            slope_per_second: slope,
            ceiling_per_second: ceiling.map(|(rate, _)| rate),
            ceiling: ceiling.map(|(_, what)| what),
            reached: dlock.per_second.value / limit,
        })
    }

    /// The scarcest resource: by what a cycle costs where most tasks share the requests.
    fn ceiling(&self, store: u32, is_local: bool) -> Option<(f64, Ceiling)> {
        let tasks = self.tasks(store, Workload::Cycle).into_iter().max()?;
        let record = self.cycle_record(store, tasks, Side::Dlock)?;
        let server = cpu_of_cycle(&record.slices, |slice| slice.server_cpu_us);
        let client = cpu_of_cycle(&record.slices, |slice| Some(slice.client_cpu_us));
        // A server elsewhere reports the thread that runs its commands.
        let thread = if is_local {
            record.of_cycle(record.server.busiest())
        } else {
            server
        };
        // All cores of this machine are for the client and the server together.
        let cores = server.zip(client).filter(|_| is_local);
        let cores = cores.map(|(server, client)| (server + client) / f64::from(self.cores));
        let disk = record.flush.and_then(|flush| record.of_cycle(flush));
        scarcest([
            (Ceiling::ServerThread, thread),
            (Ceiling::Cores, cores),
            (Ceiling::Disk, disk),
        ])
    }
}

/// The resource with the least rate, by the nanoseconds that a cycle uses of each; one that uses none is no limit.
fn scarcest(used: [(Ceiling, Option<f64>); 3]) -> Option<(f64, Ceiling)> {
    let used = used
        .into_iter()
        .filter_map(|(what, nanos)| Some((nanos.filter(|nanos| *nanos > 0.0)?, what)));
    let most = used.max_by(|(one, _), (other, _)| one.total_cmp(other));
    most.map(|(nanos, what)| (1e9 / nanos, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_is_the_limit() {
        let of = |thread, cores, disk| {
            scarcest([
                (Ceiling::ServerThread, thread),
                (Ceiling::Cores, cores),
                (Ceiling::Disk, disk),
            ])
        };
        let found = of(Some(10_000.0), Some(20_000.0), Some(50_000.0));
        assert_eq!(found, Some((20_000.0, Ceiling::Disk)));
        let found = of(Some(10_000.0), Some(20_000.0), None);
        assert_eq!(found, Some((50_000.0, Ceiling::Cores)));
        let found = of(Some(10_000.0), Some(0.0), Some(0.0));
        assert_eq!(found, Some((100_000.0, Ceiling::ServerThread)));
        assert_eq!(of(None, None, Some(0.0)), None);
    }
}

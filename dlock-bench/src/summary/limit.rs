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

    /// The scarcest resource: by the processor time of a cycle where most tasks share the requests.
    fn ceiling(&self, store: u32, is_local: bool) -> Option<(f64, Ceiling)> {
        let tasks = self.tasks(store).into_iter().max()?;
        let record = self.cycle_record(store, tasks, Side::Dlock)?;
        let server = cpu_of_cycle(&record.slices, |slice| slice.server_cpu_us)?;
        let client = cpu_of_cycle(&record.slices, |slice| Some(slice.client_cpu_us))?;
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
        let busiest = record.server.busiest().as_nanos() as f64 / record.all.max(1) as f64;
        // A server elsewhere reports the thread that runs its commands.
        let thread = if is_local { busiest } else { server };
        let of_thread = (thread > 0.0).then(|| (1e9 / thread, Ceiling::ServerThread));
        let both = client + server;
        let of_cores =
            (is_local && both > 0.0).then(|| (f64::from(self.cores) * 1e9 / both, Ceiling::Cores));
        let ceilings = of_thread.into_iter().chain(of_cores);
        ceilings.min_by(|(one, _), (other, _)| one.total_cmp(other))
    }
}

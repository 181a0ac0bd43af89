//! A figure of a benchmark, and what is counted for it.

#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

/// One figure and the bound that it must not pass.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) is: f64,
    pub(crate) at_most: f64,
}

/// Heap that is in use, in bytes, and how many allocations there were.
pub(crate) fn heap() -> (usize, usize) {
    let stats = ALLOCATOR.stats();
    let used = stats
        .bytes_allocated
        .saturating_sub(stats.bytes_deallocated);
    (
        used.saturating_add_signed(stats.bytes_reallocated),
        stats.allocations,
    )
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

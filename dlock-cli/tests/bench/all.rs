//! `--all`: each workload has its numbers.

use dlock_bench::data::Run;
use dlock_verify::{ensure, support::Outcome};

use crate::server::{Server, bench};

/// Processes that want one lock, and locks that a dead holder had.
const PROCESSES: usize = 8;
const LOCKS: usize = 20;

pub(crate) async fn all_workloads_are_measured<S: Server>() -> Outcome {
    let server = S::start().await?;
    // The eight processes have a thirtieth of it: a pause of a busy machine is no time without a grant.
    let args = [&*server.url(), "--all", "--yes", "--for", "9s", "--json"];
    let ended = bench(&args)?.wait_with_output().await?;
    ensure!(ended.status.success(), "{ended:?}");
    let run = Run::parse(&String::from_utf8(ended.stdout)?)?;
    let found = &run.stores[0];
    ensure!(found.error.is_none(), "{found:?}");
    ensure!(found.steady.is_some(), "{:?}", found.notes);
    ensure!(found.new_names.len() == 2, "{found:?}");
    let used = found.used_once.ok_or("no names used once")?;
    ensure!(used.names > 0 && used.locks == 0, "{used:?}");
    let contention = found.contention.as_ref().ok_or("no contention")?;
    ensure!(contention.grants.len() == PROCESSES, "{contention:?}");
    ensure!(contention.grants.iter().sum::<u64>() > 0, "{contention:?}");
    let takeover = found.takeover.as_ref().ok_or("no take-over")?;
    ensure!(takeover.missed == 0, "{takeover:?}");
    ensure!(takeover.killed_ns.len() == LOCKS, "{takeover:?}");
    let cut_off = takeover.cut_off_ns.as_ref().map(Vec::len);
    ensure!(cut_off == Some(LOCKS), "{takeover:?}");
    let most = found.held.last().ok_or("no held locks")?;
    // MySQL's own bound is the lowest.
    ensure!(most.locks >= 64, "{most:?}");
    let left = server.entries().await?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

//! C8: a loss is reported in time.

use dlock_verify::{checker::Check, history::EventKind};

use crate::run::{MS, Run};

/// A hold whose loss is awaited, and whose deadline is at 1,000 ms.
fn watched() -> Run {
    let run = Run::default().request(0, 1, true).grant(1, 1, 1_000);
    run.add(
        2,
        1,
        EventKind::Watched {
            op: 0,
            every: 10 * MS,
        },
    )
}

fn lost(ms: u64, run: Run) -> Run {
    let ended = run.add(ms, 1, EventKind::Lost { op: 0 });
    ended.add(9_000, 2, EventKind::Killed)
}

#[test]
fn a_loss_is_reported_at_the_deadline() {
    lost(1_000, watched()).assert_holds(Check::Loss, 1);
    lost(1_060, watched()).assert_holds(Check::Loss, 1);
    lost(1_061, watched()).assert_violated(Check::Loss);
    let never = watched().add(9_000, 2, EventKind::Killed);
    never.assert_violated(Check::Loss);
}

#[test]
fn a_holder_that_gives_the_lock_back_needs_no_report() {
    let released = watched().release(990, 1).add(9_000, 2, EventKind::Killed);
    released.assert_holds(Check::Loss, 0);
    let run = watched().add(990, 1, EventKind::Killed);
    run.add(9_000, 2, EventKind::Killed)
        .assert_holds(Check::Loss, 0);
}

#[test]
fn a_removed_entry_is_reported_within_the_bound_of_the_store() {
    let removed = EventKind::Destroyed { name: "n".into() };
    let far = || {
        let run = Run::default().request(0, 1, true).grant(1, 1, 8_000);
        run.add(
            2,
            1,
            EventKind::Watched {
                op: 0,
                every: 10 * MS,
            },
        )
    };
    let run = far().add(100, 0, removed.clone());
    lost(1_150, run).assert_holds(Check::Loss, 1);
    let run = far().add(100, 0, removed.clone());
    lost(1_170, run).assert_violated(Check::Loss);
    // One that was removed before the grant does not concern it.
    let run = Run::default().add(0, 0, removed);
    let run = run.request(0, 1, true).grant(1, 1, 8_000);
    let run = run.add(
        2,
        1,
        EventKind::Watched {
            op: 0,
            every: 10 * MS,
        },
    );
    lost(8_000, run).assert_holds(Check::Loss, 1);
}

#[test]
fn a_guard_that_calls_itself_held_too_long_is_flagged_without_a_task() {
    let removed = EventKind::Destroyed { name: "n".into() };
    let run = Run::default().request(0, 1, true).grant(1, 1, 8_000);
    let reported = EventKind::Reported {
        op: 0,
        until: 8_000 * MS,
    };
    let run = run.add(100, 0, removed).add(1_200, 1, reported);
    run.assert_violated(Check::Loss);
}

#[test]
fn a_process_that_was_stopped_reports_when_it_goes_on() {
    let stopped = || {
        let run = watched().add(500, 1, EventKind::Stopped);
        run.add(3_000, 1, EventKind::Resumed)
    };
    lost(3_060, stopped()).assert_holds(Check::Loss, 1);
    lost(3_061, stopped()).assert_violated(Check::Loss);
    // A stop of another client excuses nothing.
    let other = watched().add(500, 7, EventKind::Stopped);
    lost(3_000, other.add(2_000, 7, EventKind::Resumed)).assert_violated(Check::Loss);
}

#[test]
fn a_machine_that_is_late_may_report_late() {
    let lagged = |by_ms: u64| watched().add(1_050, 1, EventKind::Lagged { by: by_ms * MS });
    lost(1_160, lagged(100)).assert_holds(Check::Loss, 1);
    lost(1_161, lagged(100)).assert_violated(Check::Loss);
    lost(1_300, lagged(300)).assert_holds(Check::Loss, 1);
    lost(2_000, lagged(300)).assert_unknown(Check::Loss);
    let elsewhere = watched().add(1_050, 4, EventKind::Lagged { by: 300 * MS });
    lost(2_000, elsewhere).assert_violated(Check::Loss);
    let earlier = watched().add(500, 1, EventKind::Lagged { by: 300 * MS });
    lost(2_000, earlier).assert_violated(Check::Loss);
    // A stop is no lag; what follows it is.
    let stopped = |by_ms: u64, at_ms: u64| {
        let run = watched().add(500, 1, EventKind::Stopped);
        let run = run.add(3_000, 1, EventKind::Resumed);
        run.add(at_ms, 1, EventKind::Lagged { by: by_ms * MS })
    };
    lost(3_200, stopped(2_500, 3_001)).assert_violated(Check::Loss);
    lost(3_150, stopped(2_500, 3_100)).assert_holds(Check::Loss, 1);
    lost(4_000, stopped(2_500, 3_250)).assert_unknown(Check::Loss);
    let runner = watched().add(1_050, 0, EventKind::Lagged { by: 300 * MS });
    lost(2_000, runner).assert_unknown(Check::Loss);
}

//! The checks beyond linearizability: each good history passes, each bad one is flagged for what is wrong.

mod loss;

use std::time::Duration;

use dlock_core::{backend::DistributedLock, memory::Memory};
use dlock_verify::{
    checker::{Bounds, Check, Facts, Verdict, check},
    history::{
        Entry, Event, EventKind, FaultPhase, Owner, RefusalEffect, RefusalKind, RegisterKind,
    },
};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// The history of a test, with times in milliseconds.
#[derive(Default)]
struct Run(Vec<Event>);

impl Run {
    fn add(mut self, ms: u64, client: u32, kind: EventKind) -> Self {
        self.0.push(Event::new(ms * MS, client, kind));
        self
    }

    fn request(self, ms: u64, client: u32, waits: bool) -> Self {
        let requested = EventKind::Requested {
            op: 0,
            name: "n".into(),
            shared: false,
            waits,
        };
        self.add(ms, client, requested)
    }

    fn grant(self, ms: u64, client: u32, until_ms: u64) -> Self {
        let granted = EventKind::Granted {
            op: 0,
            token: client.into(),
            until: until_ms * MS,
        };
        self.add(ms, client, granted)
    }

    fn refuse(self, ms: u64, client: u32, kind: RefusalKind, effect: RefusalEffect) -> Self {
        self.add(
            ms,
            client,
            EventKind::Refused {
                op: 0,
                kind,
                effect,
            },
        )
    }

    fn release(self, ms: u64, client: u32) -> Self {
        self.add(ms, client, EventKind::Releasing { op: 0 }).add(
            ms + 1,
            client,
            EventKind::Released { op: 0 },
        )
    }

    /// A hold from `ms` for 10 ms, from its request to its confirmed release.
    fn hold(self, ms: u64, client: u32) -> Self {
        let requested = self.request(ms, client, true);
        requested
            .grant(ms + 1, client, ms + 1_000)
            .release(ms + 9, client)
    }

    fn fault(self, from_ms: u64, to_ms: u64) -> Self {
        self.fault_of("servers", from_ms, to_ms)
    }

    fn fault_of(self, target: &str, from_ms: u64, to_ms: u64) -> Self {
        let fault = |phase| EventKind::Fault {
            id: 1,
            kind: "cut".into(),
            target: target.into(),
            phase,
        };
        self.add(from_ms, 0, fault(FaultPhase::Begun))
            .add(to_ms, 0, fault(FaultPhase::Ended))
    }

    fn list(self, ms: u64, entries: &[Entry]) -> Self {
        let entries = entries.to_vec();
        self.add(ms, 0, EventKind::Listed { entries })
    }

    #[expect(clippy::expect_used, reason = "the report has all checks")]
    fn verdict(&self, wanted: Check) -> Verdict {
        let facts: Facts = self.0.iter().collect();
        assert_eq!(facts.malformed, []);
        let report = check(&facts, &bounds());
        report.verdict(wanted).expect("wanted").clone()
    }

    #[track_caller]
    fn assert_holds(&self, wanted: Check, cases: usize) {
        assert_eq!(self.verdict(wanted), Verdict::Holds { cases });
    }

    #[track_caller]
    fn assert_violated(&self, wanted: Check) {
        let verdict = self.verdict(wanted);
        assert!(matches!(verdict, Verdict::Violated { .. }), "{verdict:?}");
        let violation = &verdict.violations()[0];
        assert_eq!(violation.check(), wanted);
        assert!(!violation.to_string().contains('\n'), "{violation}");
    }

    #[track_caller]
    fn assert_unknown(&self, wanted: Check) {
        let verdict = self.verdict(wanted);
        assert!(matches!(verdict, Verdict::Unknown { .. }), "{verdict:?}");
    }
}

/// A ttl of one second, takeovers within 10 ms.
fn bounds() -> Bounds {
    let capabilities = (&Memory::new().capabilities()).into();
    Bounds::new(Duration::from_secs(1), &capabilities)
}

const CONTENDED: (RefusalKind, RefusalEffect) = (RefusalKind::Contended, RefusalEffect::None);

mod control {
    use super::*;

    fn write(value: u64) -> EventKind {
        EventKind::Write {
            name: "n".into(),
            register: RegisterKind::Control,
            token: 1,
            value,
            accepted: true,
        }
    }

    #[test]
    fn a_control_that_lost_an_update_shows_that_the_run_was_hard() {
        let run = Run::default().add(1, 1, write(1)).add(2, 2, write(1));
        run.assert_holds(Check::Control, 2);
    }

    #[test]
    fn a_control_that_lost_nothing_proves_nothing() {
        let run = Run::default().add(1, 1, write(1)).add(2, 2, write(2));
        run.assert_unknown(Check::Control);
        Run::default().assert_unknown(Check::Control);
    }
}

mod liveness {
    use super::*;

    #[test]
    fn a_waiter_of_a_free_lock_is_granted_within_a_second() {
        let run = Run::default().hold(0, 1).request(5, 2, true);
        let granted = run.grant(900, 2, 5_000).release(901, 2);
        granted.assert_holds(Check::Liveness, 2);
    }

    #[test]
    fn a_waiter_that_is_granted_late_is_flagged() {
        let run = Run::default().hold(0, 1).request(5, 2, true);
        let granted = run.grant(1_050, 2, 5_000).release(1_051, 2);
        granted.assert_violated(Check::Liveness);
    }

    #[test]
    fn a_grant_may_be_as_late_as_timers() {
        let granted = |at_ms: u64, by_ms: u64| {
            let run = Run::default().hold(0, 1).request(5, 2, true);
            let run = run.add(500, 0, EventKind::Lagged { by: by_ms * MS });
            run.grant(at_ms, 2, 9_000).release(at_ms + 1, 2)
        };
        granted(1_050, 100).assert_holds(Check::Liveness, 2);
        granted(1_150, 100).assert_violated(Check::Liveness);
        // Nothing is known while they are that late, and the second begins again.
        granted(1_450, 300).assert_holds(Check::Liveness, 2);
        granted(1_550, 300).assert_violated(Check::Liveness);
    }

    #[test]
    fn a_waiter_that_is_never_granted_is_flagged() {
        let run = Run::default().hold(0, 1).request(5, 2, true);
        let cancelled = run.add(3_000, 2, EventKind::Cancelled { op: 0 });
        cancelled.assert_violated(Check::Liveness);
        let contended = Run::default().hold(0, 1).request(5, 2, true).refuse(
            3_000,
            2,
            CONTENDED.0,
            CONTENDED.1,
        );
        contended.assert_violated(Check::Liveness);
        let open = Run::default().hold(0, 1).request(5, 2, true).hold(5_000, 3);
        open.assert_violated(Check::Liveness);
    }

    #[test]
    fn a_dead_holder_keeps_the_lock_for_its_ttl() {
        let run = Run::default()
            .request(0, 1, true)
            .grant(1, 1, 900)
            .add(500, 1, EventKind::Killed)
            .request(600, 2, true);
        run.grant(2_500, 2, 5_000).assert_holds(Check::Liveness, 2);
        let late = Run::default()
            .request(0, 1, true)
            .grant(1, 1, 900)
            .add(500, 1, EventKind::Killed)
            .request(600, 2, true)
            .grant(2_530, 2, 5_000);
        late.assert_violated(Check::Liveness);
    }

    #[test]
    fn no_grant_is_due_while_a_fault_is_on() {
        let run = Run::default().hold(0, 1).request(5, 2, true);
        let run = run.fault(500, 3_000).grant(4_900, 2, 6_000);
        run.assert_holds(Check::Liveness, 2);
        let run = Run::default().hold(0, 1).request(5, 2, true);
        let run = run.fault(500, 3_000).grant(5_100, 2, 6_000);
        run.assert_violated(Check::Liveness);
    }

    #[test]
    fn no_grant_is_due_while_an_abandoned_attempt_may_have_the_lock() {
        let run = Run::default().request(0, 3, true);
        let run = run
            .add(100, 3, EventKind::Cancelled { op: 0 })
            .request(105, 2, true)
            .grant(2_000, 2, 5_000);
        run.assert_holds(Check::Liveness, 2);
    }
}

mod contention {
    use super::*;

    fn refused_at(ms: u64, before: Run) -> Run {
        before
            .request(ms, 2, false)
            .refuse(ms + 1, 2, CONTENDED.0, CONTENDED.1)
    }

    #[test]
    fn a_lock_that_is_held_is_taken() {
        let run = refused_at(5, Run::default().request(0, 1, true).grant(1, 1, 1_000));
        run.assert_holds(Check::Contention, 1);
        refused_at(10, Run::default().hold(0, 1)).assert_holds(Check::Contention, 1);
    }

    #[test]
    fn a_lock_that_was_released_is_free() {
        refused_at(11, Run::default().hold(0, 1)).assert_violated(Check::Contention);
    }

    #[test]
    fn two_that_refuse_each_other_are_flagged() {
        let run = refused_at(11, Run::default().hold(0, 1));
        let run = run
            .request(11, 3, false)
            .refuse(12, 3, CONTENDED.0, CONTENDED.1);
        run.assert_violated(Check::Contention);
    }

    #[test]
    fn an_attempt_without_a_reply_may_have_the_lock_for_a_ttl() {
        let lost = || {
            let run = Run::default().request(0, 1, true);
            run.refuse(10, 1, RefusalKind::Unavailable, RefusalEffect::Unknown)
        };
        refused_at(1_000, lost()).assert_holds(Check::Contention, 1);
        refused_at(1_021, lost()).assert_violated(Check::Contention);
        // The request may have been held back until the fault had ended.
        let run = refused_at(1_021, lost().fault(5, 500));
        run.assert_holds(Check::Contention, 1);
        // Servers that fail later count the ttl again, and another client's failure changes nothing.
        let later = |target| lost().fault_of(target, 900, 1_500);
        refused_at(2_400, later("servers")).assert_holds(Check::Contention, 1);
        refused_at(2_521, later("servers")).assert_violated(Check::Contention);
        refused_at(2_400, later("worker 3")).assert_violated(Check::Contention);
    }

    #[test]
    fn a_wait_may_have_been_granted_as_it_ended() {
        let run = Run::default()
            .request(0, 1, true)
            .refuse(10, 1, CONTENDED.0, CONTENDED.1);
        refused_at(11, run).assert_holds(Check::Contention, 1);
    }

    #[test]
    fn a_failure_without_effect_has_not_the_lock() {
        let run = Run::default().request(0, 1, true);
        let run = run.refuse(10, 1, RefusalKind::Denied, RefusalEffect::None);
        refused_at(11, run).assert_violated(Check::Contention);
    }
}

fn entry(documented: bool, owner: Option<Owner>) -> Entry {
    Entry {
        name: "n".into(),
        what: "dlock:{n}".to_owned(),
        documented,
        owner,
    }
}

mod residue {
    use super::*;

    #[test]
    fn nothing_is_left_when_all_have_ended() {
        let run = Run::default().hold(0, 1).list(20, &[entry(true, None)]);
        run.assert_holds(Check::Residue, 1);
        let run = Run::default().hold(0, 1).list(20, &[entry(false, None)]);
        run.assert_violated(Check::Residue);
    }

    #[test]
    fn a_lock_that_is_held_has_an_entry() {
        let held = Run::default().request(0, 1, true).grant(1, 1, 1_000);
        held.list(20, &[entry(false, None)])
            .assert_unknown(Check::Residue);
        Run::default().hold(0, 1).assert_unknown(Check::Residue);
    }

    #[test]
    fn an_entry_without_a_name_is_of_all_locks() {
        let lease = Entry {
            name: "".into(),
            what: "lease 7".to_owned(),
            documented: false,
            owner: None,
        };
        let run = Run::default()
            .hold(0, 1)
            .list(20, std::slice::from_ref(&lease));
        run.assert_violated(Check::Residue);
        let other = EventKind::Requested {
            op: 0,
            name: "other".into(),
            shared: false,
            waits: true,
        };
        let run = Run::default().hold(0, 1).add(15, 5, other);
        run.list(20, &[lease]).assert_holds(Check::Residue, 1);
    }
}

mod effect {
    use super::*;

    const OWNER: Owner = Owner { client: 1, op: 0 };

    fn refused(effect: RefusalEffect) -> Run {
        let run = Run::default().request(0, 1, true);
        run.refuse(10, 1, RefusalKind::Unavailable, effect)
    }

    #[test]
    fn an_attempt_without_effect_is_not_in_the_store() {
        let run = refused(RefusalEffect::None).list(20, &[entry(false, Some(OWNER))]);
        run.assert_violated(Check::Effect);
        let run = refused(RefusalEffect::None).list(20, &[]);
        run.assert_holds(Check::Effect, 1);
        let other = Owner { client: 2, op: 0 };
        let run = refused(RefusalEffect::None).list(20, &[entry(false, Some(other))]);
        run.assert_holds(Check::Effect, 1);
    }

    #[test]
    fn an_attempt_with_an_unknown_effect_may_be() {
        let run = refused(RefusalEffect::Unknown).list(20, &[entry(false, Some(OWNER))]);
        run.assert_unknown(Check::Effect);
    }

    #[test]
    fn a_listing_that_is_late_or_has_no_owners_shows_nothing() {
        let run = refused(RefusalEffect::None).list(1_500, &[]);
        run.assert_unknown(Check::Effect);
        let run = refused(RefusalEffect::None).list(20, &[entry(false, None)]);
        run.assert_unknown(Check::Effect);
    }
}

#[test]
fn the_report_has_a_line_for_each_check() {
    let facts: Facts = Run::default().hold(0, 1).0.iter().collect();
    let report = check(&facts, &bounds());
    let text = report.to_string();
    assert!(
        text.starts_with("C0 history: holds in 4 cases\nC1 exclusion: holds in 1 cases\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), report.verdicts.len());
    assert_eq!(report.grants, 1);
    assert_eq!(facts.ends, 10 * MS);
    assert!(facts.ends < S);
}

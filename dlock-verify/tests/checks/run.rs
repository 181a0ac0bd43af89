//! The histories of the tests.

use std::time::Duration;

use dlock_core::{backend::DistributedLock, memory::Memory};
use dlock_verify::{
    checker::{Bounds, Check, Facts, Verdict, check},
    history::{Entry, Event, EventKind, FaultPhase, Owner, RefusalEffect, RefusalKind},
};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000 * MS;

/// The history of a test, with times in milliseconds.
#[derive(Default)]
pub(crate) struct Run(pub(crate) Vec<Event>);

impl Run {
    pub(crate) fn add(mut self, ms: u64, client: u32, kind: EventKind) -> Self {
        self.0.push(Event::new(ms * MS, client, kind));
        self
    }

    pub(crate) fn request(self, ms: u64, client: u32, waits: bool) -> Self {
        let requested = EventKind::Requested {
            op: 0,
            name: "n".into(),
            shared: false,
            waits,
        };
        self.add(ms, client, requested)
    }

    pub(crate) fn grant(self, ms: u64, client: u32, until_ms: u64) -> Self {
        let granted = EventKind::Granted {
            op: 0,
            token: client.into(),
            until: until_ms * MS,
        };
        self.add(ms, client, granted)
    }

    pub(crate) fn refuse(
        self,
        ms: u64,
        client: u32,
        kind: RefusalKind,
        effect: RefusalEffect,
    ) -> Self {
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

    pub(crate) fn release(self, ms: u64, client: u32) -> Self {
        self.add(ms, client, EventKind::Releasing { op: 0 }).add(
            ms + 1,
            client,
            EventKind::Released { op: 0 },
        )
    }

    /// A hold from `ms` for 10 ms, from its request to its confirmed release.
    pub(crate) fn hold(self, ms: u64, client: u32) -> Self {
        let requested = self.request(ms, client, true);
        requested
            .grant(ms + 1, client, ms + 1_000)
            .release(ms + 9, client)
    }

    pub(crate) fn fault(self, from_ms: u64, to_ms: u64) -> Self {
        self.fault_of("servers", from_ms, to_ms)
    }

    pub(crate) fn fault_of(self, target: &str, from_ms: u64, to_ms: u64) -> Self {
        let fault = |phase| EventKind::Fault {
            id: 1,
            kind: "cut".into(),
            target: target.into(),
            phase,
        };
        self.add(from_ms, 0, fault(FaultPhase::Begun))
            .add(to_ms, 0, fault(FaultPhase::Ended))
    }

    pub(crate) fn list(self, ms: u64, entries: &[Entry]) -> Self {
        let entries = entries.to_vec();
        self.add(ms, 0, EventKind::Listed { entries })
    }

    pub(crate) fn facts(&self) -> Facts {
        let facts: Facts = self.0.iter().collect();
        assert_eq!(facts.malformed, []);
        facts
    }

    #[expect(clippy::expect_used, reason = "the report has all checks")]
    pub(crate) fn verdict(&self, wanted: Check) -> Verdict {
        let report = check(&self.facts(), &bounds());
        report.verdict(wanted).expect("wanted").clone()
    }

    #[track_caller]
    pub(crate) fn assert_holds(&self, wanted: Check, cases: usize) {
        assert_eq!(self.verdict(wanted), Verdict::Holds { cases });
    }

    #[track_caller]
    pub(crate) fn assert_violated(&self, wanted: Check) {
        let verdict = self.verdict(wanted);
        assert!(matches!(verdict, Verdict::Violated { .. }), "{verdict:?}");
        let violation = &verdict.violations()[0];
        assert_eq!(violation.check(), wanted);
        assert!(!violation.to_string().contains('\n'), "{violation}");
    }

    #[track_caller]
    pub(crate) fn assert_unknown(&self, wanted: Check) {
        let verdict = self.verdict(wanted);
        assert!(matches!(verdict, Verdict::Unknown { .. }), "{verdict:?}");
    }
}

/// A ttl of one second, takeovers within 10 ms.
pub(crate) fn bounds() -> Bounds {
    let capabilities = (&Memory::new().capabilities()).into();
    Bounds::new(Duration::from_secs(1), &capabilities)
}

pub(crate) const CONTENDED: (RefusalKind, RefusalEffect) =
    (RefusalKind::Contended, RefusalEffect::None);

pub(crate) fn entry(documented: bool, owner: Option<Owner>) -> Entry {
    Entry {
        name: "n".into(),
        what: "dlock:{n}".to_owned(),
        documented,
        owner,
    }
}

//! The metrics of dlock, each with its kind, unit and help text.

use metrics::Unit;

/// The label that every series has.
pub(super) const BACKEND: &str = "backend";

/// The kind of a metric.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric: everything that its series have in common.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// `Count` for a number without a unit.
    pub(super) unit: Unit,
    pub(super) help: &'static str,
    /// The label beside `backend`, and all its values; empty for a metric with one series for each backend.
    pub(super) label: &'static str,
    pub(super) values: &'static [&'static str],
}

/// The causes of a loss, each at the index that is its number.
pub(super) const CAUSES: [&str; 7] = [
    "expired",
    "taken",
    "removed",
    "session_ended",
    "demoted",
    "closed",
    "moved",
];

/// All metrics, in the order of the documentation.
pub(super) const ALL: &[&Metric] = &[
    &WAITING,
    &WAIT_SECONDS,
    &HELD,
    &HOLD_SECONDS,
    &OLDEST_HOLD_SECONDS,
    &GRANTS,
    &CONTENDED,
    &UNAVAILABLE,
    &LOST,
    &RENEWALS,
    &RENEW_LAG_SECONDS,
    &MARGIN_RATIO,
    &STORE_SECONDS,
    &RELEASES_PENDING,
];

pub(super) const WAITING: Metric = gauge("dlock_waiting", Unit::Count, "Acquires under way.");

pub(super) const WAIT_SECONDS: Metric = histogram(
    "dlock_wait_seconds",
    Unit::Seconds,
    "How long each acquire took, with any result.",
);

pub(super) const HELD: Metric = gauge("dlock_held", Unit::Count, "Locks that are held.");

pub(super) const HOLD_SECONDS: Metric = histogram(
    "dlock_hold_seconds",
    Unit::Seconds,
    "How long each lock was held, recorded at its end.",
);

pub(super) const OLDEST_HOLD_SECONDS: Metric = gauge(
    "dlock_oldest_hold_seconds",
    Unit::Seconds,
    "How long the oldest lock has been held; 0 if none is. Up to a second old.",
);

pub(super) const GRANTS: Metric = counter("dlock_grants_total", "Locks that were granted.");

pub(super) const CONTENDED: Metric = counter(
    "dlock_contended_total",
    "Acquires that ended without a grant because the lock was taken.",
);

pub(super) const UNAVAILABLE: Metric = counter(
    "dlock_unavailable_total",
    "Acquires that ended without a grant because the store did not serve them.",
);

pub(super) const LOST: Metric = counter(
    "dlock_lost_total",
    "Locks that were lost while they were held, by cause.",
)
.split_by("cause", &CAUSES);

pub(super) const RENEWALS: Metric = counter(
    "dlock_renewals_total",
    "Renewals by result: confirmed, lost, or failed and to be tried again.",
)
.split_by("result", &["confirmed", "failed", "lost"]);

pub(super) const RENEW_LAG_SECONDS: Metric = histogram(
    "dlock_renew_lag_seconds",
    Unit::Seconds,
    "Delay of a renewal after its due time.",
);

pub(super) const MARGIN_RATIO: Metric = histogram(
    "dlock_margin_ratio",
    Unit::Count,
    "Part of the ttl that was left when a renewal was confirmed, from 0 to 1.",
);

pub(super) const STORE_SECONDS: Metric = histogram(
    "dlock_store_seconds",
    Unit::Seconds,
    "Time of a request to the store by operation, with any result; acquires without those that waited.",
)
.split_by("op", &["acquire", "renew", "release", "inspect"]);

pub(super) const RELEASES_PENDING: Metric = gauge(
    "dlock_releases_pending",
    Unit::Count,
    "Locks that have ended and whose release in the background is not confirmed.",
);

const fn counter(name: &'static str, help: &'static str) -> Metric {
    Metric::new(name, Kind::Counter, Unit::Count, help)
}

const fn gauge(name: &'static str, unit: Unit, help: &'static str) -> Metric {
    Metric::new(name, Kind::Gauge, unit, help)
}

const fn histogram(name: &'static str, unit: Unit, help: &'static str) -> Metric {
    Metric::new(name, Kind::Histogram, unit, help)
}

impl Metric {
    const fn new(name: &'static str, kind: Kind, unit: Unit, help: &'static str) -> Self {
        Self {
            name,
            kind,
            unit,
            help,
            label: "",
            values: &[],
        }
    }

    const fn split_by(self, label: &'static str, values: &'static [&'static str]) -> Self {
        Self {
            label,
            values,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CAUSES;
    use crate::base::cause::LostCause;

    #[test]
    fn each_cause_of_a_loss_has_its_own_label() {
        for (number, label) in (0..).zip(CAUSES) {
            let cause = LostCause::from_index(number).expect("a cause");
            let name = format!("{cause:?}").to_lowercase();
            assert_eq!(name, label.replace('_', ""));
        }
        let number = u64::try_from(CAUSES.len()).expect("few");
        assert_eq!(
            LostCause::from_index(number),
            None,
            "a cause without a label"
        );
    }
}

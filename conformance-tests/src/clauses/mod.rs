//! The cases: one file for each clause, at least one case in each.

mod k01_exclusion;
mod k02_deadline;
mod k03_renewal;
mod k04_release;
mod k05_failover;
mod k05_tokens;
mod k06_order;
mod k06_takeover;
mod k06_vanished;
mod k06_waiting;
mod k07_cancellation;
mod k08_data_loss;
mod k08_link_faults;
mod k08_loss;
mod k09_ambiguity;
mod k09_silence;
mod k10_names;
mod k11_bad_input;
mod k12_residue;
mod k13_independence;

use crate::case::Case;

/// All cases, each with its clause.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, Case)> {
    let clauses = [
        ("k01_exclusion", k01_exclusion::cases()),
        ("k02_deadline", k02_deadline::cases()),
        ("k03_renewal", k03_renewal::cases()),
        ("k04_release", k04_release::cases()),
        ("k05_tokens", k05_tokens::cases()),
        ("k05_tokens", k05_failover::cases()),
        ("k06_waiting", k06_waiting::cases()),
        ("k06_waiting", k06_order::cases()),
        ("k06_waiting", k06_takeover::cases()),
        ("k06_waiting", k06_vanished::cases()),
        ("k07_cancellation", k07_cancellation::cases()),
        ("k08_loss", k08_loss::cases()),
        ("k08_loss", k08_link_faults::cases()),
        ("k08_loss", k08_data_loss::cases()),
        ("k09_ambiguity", k09_ambiguity::cases()),
        ("k09_ambiguity", k09_silence::cases()),
        ("k10_names", k10_names::cases()),
        ("k11_bad_input", k11_bad_input::cases()),
        ("k12_residue", k12_residue::cases()),
        ("k13_independence", k13_independence::cases()),
    ];
    clauses
        .into_iter()
        .flat_map(|(clause, cases)| cases.into_iter().map(move |case| (clause, case)))
}

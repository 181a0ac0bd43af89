//! The product: whether its row locks are those that dlock needs.

use super::{checks, facts::Facts};
use crate::probe::{finding::Severity, report::Report};

/// The oldest versions that have `NOWAIT` and `SKIP LOCKED`.
const MYSQL_MIN: (u32, u32) = (8, 0);
const MARIADB_MIN: (u32, u32) = (10, 6);

/// Products that speak the protocol, by a word in their version or its comment.
const OTHERS: [&str; 6] = [
    "TiDB",
    "Vitess",
    "SingleStore",
    "OceanBase",
    "Dolt",
    "ProxySQL",
];

/// The name of the product.
pub(super) fn name(facts: &Facts) -> &'static str {
    let text = format!(
        "{} {}",
        facts.variable("version"),
        facts.variable("version_comment")
    );
    let other = OTHERS.into_iter().find(|other| text.contains(other));
    match (other, facts.is_mariadb()) {
        (Some(other), _) => other,
        (None, true) => "MariaDB",
        (None, false) => "MySQL",
    }
}

pub(super) fn judge(facts: &Facts, report: &mut Report) {
    let name = name(facts);
    let other = OTHERS
        .contains(&name)
        .then(|| checks::PRODUCT.finds(Severity::Danger, name, "MySQL or MariaDB"));
    report.note(&checks::PRODUCT, other);
    let min = if facts.is_mariadb() {
        MARIADB_MIN
    } else {
        MYSQL_MIN
    };
    let version = facts.variable("version");
    let old = (numbers(version) < min).then(|| {
        let wanted = format!("{}.{} or later", min.0, min.1);
        checks::OLD_VERSION.finds(Severity::Danger, version, wanted)
    });
    report.note(&checks::OLD_VERSION, old);
    let galera = (facts.variable("wsrep_on") == "ON")
        .then(|| checks::GALERA.finds(Severity::Danger, "ON", "OFF"));
    report.note(&checks::GALERA, galera);
    let multi = (facts.variable("group_replication_single_primary_mode") == "OFF")
        .then(|| checks::MULTI_PRIMARY.finds(Severity::Danger, "OFF", "ON"));
    report.note(&checks::MULTI_PRIMARY, multi);
    let mut engines = facts.engines.iter();
    let engine = engines
        .find(|(_, engine)| *engine != "InnoDB")
        .map(|(table, engine)| {
            checks::ENGINE
                .finds(
                    Severity::Danger,
                    format_args!("{table}: {engine}"),
                    "InnoDB",
                )
                .advice(format!("ALTER TABLE {table} ENGINE=InnoDB"))
        });
    report.note(&checks::ENGINE, engine);
}

/// The first two numbers of a version such as `10.11.19-MariaDB-0+deb12u1`.
fn numbers(version: &str) -> (u32, u32) {
    let mut numbers = version
        .split(['.', '-'])
        .map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(numbers("10.11.19-MariaDB-0+deb12u1"), (10, 11));
        assert!(numbers("5.7.44-log") < MYSQL_MIN);
        assert!(numbers("") < MYSQL_MIN);
        assert!(numbers("9.7.4-2") >= MYSQL_MIN);
    }
}

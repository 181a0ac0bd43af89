//! Replication: whether this is the server that grants, and what a failover forgets.

use super::{
    checks,
    facts::{Facts, Values},
};
use crate::{
    driver::mysql::Failure,
    probe::{
        count::count,
        finding::{Check, Severity},
        report::Report,
    },
};

/// A replica that is further behind lacks times of the guard.
const BEHIND_MAX_S: u64 = 1;

/// The rights that let an account write on a server that is read-only.
const WRITES_ALWAYS: [&str; 4] = [
    "ALL PRIVILEGES ON *.*",
    "SUPER",
    "CONNECTION_ADMIN",
    "READ_ONLY ADMIN",
];

pub(super) fn judge(facts: &Facts, user: &str, report: &mut Report) {
    let is_read_only = !matches!(facts.variable("read_only"), "OFF" | "0" | "");
    let read_only = is_read_only
        .then(|| checks::READ_ONLY.finds(Severity::Danger, facts.variable("read_only"), "OFF"));
    report.note(&checks::READ_ONLY, read_only);
    judge_source(facts, user, report);
    judge_replicas(facts, user, report);
    judge_grants(facts, report);
    let replicas = facts.replicas.as_ref().map_or(0, |replicas| *replicas);
    report.about.role = match &facts.follows {
        Ok(Some(_)) => "replica".to_owned(),
        _ if is_read_only => "read-only".to_owned(),
        _ => format!("primary, {}", count(replicas, "replica")),
    };
}

/// Whether the server follows another one.
fn judge_source(facts: &Facts, user: &str, report: &mut Report) {
    let source = match &facts.follows {
        Ok(source) => source,
        Err(failure) => {
            let right = if facts.is_mariadb() {
                "SLAVE MONITOR"
            } else {
                "REPLICATION CLIENT"
            };
            for check in [checks::REPLICA, checks::REPLICA_LAG] {
                refused(&check, failure, right, user, report);
            }
            return;
        }
    };
    let Some(source) = source else {
        report.note(&checks::REPLICA, None);
        return report.note(&checks::REPLICA_LAG, None);
    };
    let host = field(source, &["Source_Host", "Master_Host"]);
    let replica = checks::REPLICA.finds(
        Severity::Danger,
        format_args!("follows {host}"),
        "a primary",
    );
    report.note(&checks::REPLICA, Some(replica));
    let behind = field(source, &["Seconds_Behind_Source", "Seconds_Behind_Master"]);
    let lags = match behind.parse::<u64>() {
        Ok(0..=BEHIND_MAX_S) => None,
        Ok(seconds) => Some(format!("{seconds} s behind")),
        Err(_) => Some("replication is stopped".to_owned()),
    };
    let lag = lags.map(|found| {
        let wanted = format!("at most {BEHIND_MAX_S} s");
        checks::REPLICA_LAG.finds(Severity::Warning, found, wanted)
    });
    report.note(&checks::REPLICA_LAG, lag);
}

fn judge_replicas(facts: &Facts, user: &str, report: &mut Report) {
    // Without a log none can follow.
    if matches!(facts.variable("log_bin"), "OFF" | "0") {
        return report.note(&checks::REPLICAS, None);
    }
    match &facts.replicas {
        Ok(0) => report.note(&checks::REPLICAS, None),
        Ok(replicas) => {
            let found = count(*replicas, "replica");
            let finding =
                checks::REPLICAS.finds(Severity::Warning, found, "none, or fail over with care");
            report.note(&checks::REPLICAS, Some(finding));
        }
        Err(failure) => {
            let right = match facts.is_mariadb() {
                true => "REPLICATION MASTER ADMIN",
                false => "REPLICATION SLAVE",
            };
            refused(&checks::REPLICAS, failure, right, user, report);
        }
    }
}

/// Whether the account may write where it should not.
fn judge_grants(facts: &Facts, report: &mut Report) {
    let grants = match &facts.grants {
        Ok(grants) => grants,
        Err(failure) => {
            return report.no_answer(
                &checks::SPLIT,
                failure,
                "nothing: each account may read its own",
            );
        }
    };
    let mut found = WRITES_ALWAYS.into_iter();
    let found = found.find(|right| grants.iter().any(|grant| grants_globally(grant, right)));
    let finding =
        found.map(|right| checks::SPLIT.finds(Severity::Warning, right, "no rights on the server"));
    report.note(&checks::SPLIT, finding);
}

/// Whether a line of `SHOW GRANTS` has this right, for the whole server.
fn grants_globally(grant: &str, right: &str) -> bool {
    let Some((rights, _)) = grant
        .strip_prefix("GRANT ")
        .and_then(|rest| rest.split_once(" ON *.*"))
    else {
        return false;
    };
    let right = right.strip_suffix(" ON *.*").unwrap_or(right);
    rights.split(',').any(|word| word.trim() == right)
}

fn field<'a>(values: &'a Values, names: &[&str]) -> &'a str {
    let value = names.iter().find_map(|name| values.get(*name));
    value.map_or("", String::as_str)
}

fn refused(check: &Check, failure: &Failure, right: &str, user: &str, report: &mut Report) {
    let grant = match failure.is_denied() {
        true => format!("GRANT {right} ON *.* TO {user}"),
        false => format!("a server that has the statement behind {right}"),
    };
    report.no_answer(check, failure, grant);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rights_on_the_whole_server_count() {
        let has = |grant, right| grants_globally(grant, right);
        assert!(has("GRANT PROCESS, SUPER ON *.* TO `A`@`%`", "SUPER"));
        assert!(has(
            "GRANT ALL PRIVILEGES ON *.* TO `ROOT`@`LOCALHOST`",
            "ALL PRIVILEGES ON *.*"
        ));
        assert!(has(
            "GRANT READ_ONLY ADMIN ON *.* TO `A`@`%`",
            "READ_ONLY ADMIN"
        ));
        assert!(!has(
            "GRANT ALL PRIVILEGES ON `LOCKS`.* TO `A`@`%`",
            "ALL PRIVILEGES ON *.*"
        ));
        assert!(!has("GRANT USAGE ON *.* TO `SUPER`@`%`", "SUPER"));
        assert!(!has("GRANT SELECT ON `SUPER`.* TO `A`@`%`", "SUPER"));
    }
}

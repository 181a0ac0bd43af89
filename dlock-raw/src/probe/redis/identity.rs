//! Identity: which server this is, and whether it is always the same.

use super::{checks, facts::Facts, info::Info};
use crate::{
    driver::redis::{Address, Connection, Servers, Topology},
    probe::{finding::Severity, report::Report},
};

/// The number of further connections that show whether they all reach the same server.
const CONNECTIONS: usize = 3;

/// The oldest versions that have all commands that dlock needs.
const REDIS_MIN: (u32, u32) = (7, 0);

/// Fields by which servers that only speak Redis' protocol are known.
const OTHERS: [(&str, &str); 4] = [
    ("dragonfly_version", "Dragonfly"),
    ("garnet_version", "Garnet"),
    ("kvrocks_version", "Kvrocks"),
    ("mvcc_depth", "KeyDB"),
];

/// The product and its version.
pub(super) fn product(info: &Info) -> (String, String) {
    let text = |field| info.text(field).to_owned();
    if let Some((field, name)) = OTHERS.into_iter().find(|(field, _)| info.has(field)) {
        let version = if name == "KeyDB" {
            "redis_version"
        } else {
            field
        };
        return (name.to_owned(), text(version));
    }
    if info.has("valkey_version") {
        return ("Valkey".to_owned(), text("valkey_version"));
    }
    match info.has("redis_version") {
        true => ("Redis".to_owned(), text("redis_version")),
        false => ("unknown".to_owned(), String::new()),
    }
}

pub(super) fn judge(facts: &Facts, info: &Info, topology: Topology, report: &mut Report) {
    let (product, version) = product(info);
    let is_known = matches!(&*product, "Redis" | "Valkey");
    let has_run_id = !info.text("run_id").is_empty();
    let unknown = (!is_known || !has_run_id).then(|| {
        let (found, severity, effect) = match has_run_id {
            true => (product, Severity::Warning, checks::PRODUCT.effect),
            false => (
                format!("{product} without a run_id"),
                Severity::Danger,
                "dlock cannot notice a restart, and refuses the server",
            ),
        };
        let finding = facts.finds(&checks::PRODUCT, severity, found, "Redis or Valkey");
        finding.effect(effect)
    });
    report.note(&checks::PRODUCT, unknown);
    let old = (is_known && number(&version) < REDIS_MIN).then(|| {
        facts.finds(
            &checks::OLD_VERSION,
            Severity::Warning,
            version,
            "7.0 or later",
        )
    });
    report.note(&checks::OLD_VERSION, old);
    judge_role(facts, info, topology, report);
    judge_rights(facts, report);
}

fn judge_role(facts: &Facts, info: &Info, topology: Topology, report: &mut Report) {
    let mode = match info.text("redis_mode") {
        "" => info.text("server_mode"),
        mode => mode,
    };
    let role = info.text("role");
    let wanted = match (topology, mode) {
        (_, "sentinel") => "redis-sentinel:// in the URL, or the primary's address",
        (Topology::Server | Topology::Sentinel, "cluster") => "redis-cluster:// in the URL",
        (Topology::Cluster, "standalone") => "redis:// in the URL",
        _ if !matches!(role, "" | "master") => "a primary",
        _ if info.text("loading") == "1" => "a server that has loaded its data",
        _ => return report.note(&checks::ROLE, None),
    };
    let found = format!("{mode} {role}");
    let finding = facts.finds(&checks::ROLE, Severity::Danger, found.trim(), wanted);
    report.note(&checks::ROLE, Some(finding));
}

/// Rights that only matter for some clauses.
fn judge_rights(facts: &Facts, report: &mut Report) {
    let finding = match facts.may_kill {
        Some(true) => None,
        Some(false) => Some(facts.finds(&checks::LATE, Severity::Warning, "denied", "allowed")),
        None => return report.no_answer(&checks::LATE, "the server did not answer", "nothing"),
    };
    report.note(&checks::LATE, finding);
}

/// Whether each connection reaches the same server, and a connection itself stays the same.
pub(super) async fn probe_address(
    servers: &Servers,
    address: &Address,
    facts: &Facts,
    info: &Info,
    report: &mut Report,
) {
    match &facts.ids {
        Ok((first, second)) => {
            let moved = (first != second).then(|| {
                let found = format!("{first}, then {second}");
                facts.finds(&checks::PROXY, Severity::Danger, found, "the same id")
            });
            report.note(&checks::PROXY, moved);
        }
        Err(refusal) => refusal.note(&checks::PROXY, report),
    }
    let mut runs = vec![info.text("run_id").to_owned()];
    for _ in 0..CONNECTIONS {
        let run = match servers.connect(address).await {
            Ok(connection) => run_id(&connection).await,
            Err(error) => Err(error),
        };
        match run {
            Ok(run) => runs.push(run),
            Err(error) => return report.no_answer(&checks::TWO_SERVERS, error, "more connections"),
        }
    }
    runs.sort_unstable();
    runs.dedup();
    let several = (runs.len() > 1).then(|| {
        let found = format!(
            "{} servers over {} connections",
            runs.len(),
            CONNECTIONS + 1
        );
        facts.finds(&checks::TWO_SERVERS, Severity::Danger, found, "1 server")
    });
    report.note(&checks::TWO_SERVERS, several);
}

async fn run_id(connection: &Connection) -> redis::RedisResult<String> {
    let info: String = connection.request(&["INFO", "server"]).await?;
    Ok(Info::parse(&info).text("run_id").to_owned())
}

/// The first two numbers of a version.
fn number(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_known_by_their_fields() {
        for (text, name, version) in [
            ("redis_version:7.0.15\r\n", "Redis", "7.0.15"),
            (
                "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.0.1\r\n",
                "Valkey",
                "9.0.1",
            ),
            (
                "redis_version:7.4.0\r\ndragonfly_version:df-v1.20.1\r\n",
                "Dragonfly",
                "df-v1.20.1",
            ),
            ("role:master\r\n", "unknown", ""),
        ] {
            let found = product(&Info::parse(text));
            assert_eq!(found, (name.to_owned(), version.to_owned()));
        }
        assert!(number("6.2.14") < REDIS_MIN && number("7.0.0") >= REDIS_MIN);
    }
}

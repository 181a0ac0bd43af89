//! The cluster: its members, learners and alarms.

use etcd_client::{AlarmAction, AlarmType, Member as Listed, StatusResponse};

use super::{
    checks,
    member::{MEMBERS_MAX, Member},
    refusal,
};
use crate::{
    driver::etcd::{Address, Members},
    probe::{count::count, finding::Severity, report::Report},
};

/// The writes that a learner may be behind.
const LEARNER_LAG_MAX: u64 = 1_000;

/// The members as one of them lists them.
pub(super) async fn read(
    member: &Member,
    user: Option<&str>,
    report: &mut Report,
) -> Option<Vec<Listed>> {
    match member.client.cluster_client().member_list().await {
        Ok(reply) => Some(reply.members().to_vec()),
        Err(error) => {
            for check in [checks::MEMBERS, checks::LEARNER, checks::GRPC_PROXY] {
                refusal::note(&check, &error, user, report);
            }
            None
        }
    }
}

/// Connects to the members that the URL does not name, at the addresses that they give for clients.
pub(super) async fn reach_others(
    members: &Members,
    listed: &[Listed],
    found: &mut Vec<Member>,
    silent: &mut Vec<String>,
) {
    if is_proxy(listed) {
        return;
    }
    for other in listed {
        let address = other.client_urls().iter().find_map(|url| address(url));
        let Some(address) = address else {
            continue;
        };
        let (host, port) = &address;
        let label = format!("{host}:{port}");
        let is_known =
            |member: &Member| member.id() == Some(other.id()) || member.address == address;
        let is_enough = found.len() >= MEMBERS_MAX || silent.contains(&label);
        if is_enough || found.iter().any(is_known) {
            continue;
        }
        match Member::read(members, &address, format!("{label}: ")).await {
            Ok(member) => found.push(member),
            Err(_) => silent.push(label),
        }
    }
}

/// Judges the number of members and their kinds.
pub(super) fn judge(listed: &[Listed], found: &[Member], report: &mut Report) {
    let proxied = is_proxy(listed).then(|| {
        checks::GRPC_PROXY.finds(Severity::Warning, "a gRPC proxy", "the members themselves")
    });
    report.note(&checks::GRPC_PROXY, proxied);
    if is_proxy(listed) {
        "behind a gRPC proxy".clone_into(&mut report.about.role);
        return report.no_answer(
            &checks::MEMBERS,
            "the gRPC proxy hides them",
            "the members' own addresses",
        );
    }
    let voters = listed.iter().filter(|member| !member.is_learner()).count();
    let few = (voters % 2 == 0 || voters == 1).then(|| {
        let found = count(voters, "member");
        checks::MEMBERS.finds(Severity::Warning, found, "3 or 5 members")
    });
    report.note(&checks::MEMBERS, few);
    report.about.role = match voters {
        1 => "1 member".to_owned(),
        voters => format!("cluster of {voters} members"),
    };
    let states = || {
        found
            .iter()
            .filter_map(|member| member.status.as_ref().ok())
    };
    let newest = states().map(StatusResponse::raft_index).max().unwrap_or(0);
    let learner = listed
        .iter()
        .find(|member| member.is_learner())
        .map(|learner| {
            let own = found
                .iter()
                .find(|member| member.id() == Some(learner.id()));
            let own = own.and_then(|member| member.status.as_ref().ok());
            let behind = newest.saturating_sub(own.map_or(0, StatusResponse::raft_applied_index));
            let severity = match behind {
                0..=LEARNER_LAG_MAX => Severity::Note,
                _ => Severity::Warning,
            };
            let found = format!("{} is a learner, {behind} writes behind", learner.name());
            checks::LEARNER.finds(severity, found, "no learner")
        });
    report.note(&checks::LEARNER, learner);
}

/// Judges the members that do not answer.
pub(super) fn judge_silent(silent: &[String], report: &mut Report) {
    let finding = (!silent.is_empty()).then(|| {
        let found = format!("no answer from {}", silent.join(", "));
        checks::UNREACHABLE.finds(Severity::Warning, found, "answers of all members")
    });
    report.note(&checks::UNREACHABLE, finding);
}

/// Judges the alarms that are raised.
pub(super) async fn read_alarms(member: &Member, user: Option<&str>, report: &mut Report) {
    let mut client = member.client.maintenance_client();
    let alarms = client.alarm(AlarmAction::Get, AlarmType::None, None).await;
    let alarms = match alarms {
        Ok(alarms) => alarms,
        Err(error) => {
            for check in [checks::NOSPACE, checks::CORRUPT] {
                refusal::note(&check, &error, user, report);
            }
            return;
        }
    };
    for (check, kind) in [
        (checks::NOSPACE, AlarmType::Nospace),
        (checks::CORRUPT, AlarmType::Corrupt),
    ] {
        let raised = alarms.alarms().iter().filter(|alarm| alarm.alarm() == kind);
        let members: Vec<_> = raised
            .map(|alarm| format!("{:x}", alarm.member_id()))
            .collect();
        let finding = (!members.is_empty()).then(|| {
            let found = format!("raised by member {}", members.join(", "));
            check.finds(Severity::Danger, found, "no alarm")
        });
        report.note(&check, finding);
    }
}

/// A gRPC proxy lists itself, without an id and without an address for peers.
fn is_proxy(listed: &[Listed]) -> bool {
    let own = |member: &Listed| member.id() == 0 || member.peer_urls().is_empty();
    !listed.is_empty() && listed.iter().all(own)
}

/// The host and the port of `http://host:port`.
fn address(url: &str) -> Option<Address> {
    let (_, address) = url.split_once("://")?;
    let (host, port) = address.trim_end_matches('/').rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_urls() {
        let address_of = |url| address(url).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(
            address_of("https://db-1:2379"),
            Some("db-1 2379".to_owned())
        );
        assert_eq!(
            address_of("http://[::1]:2379/"),
            Some("::1 2379".to_owned())
        );
        assert_eq!(address_of("unix://socket"), None);
    }
}

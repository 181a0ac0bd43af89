//! The ensemble: how many servers there are, and how many follow.

use super::{checks, server::Server, words::WHITELIST};
use crate::probe::{finding::Severity, report::Report};

/// Judges the servers that were found together.
pub(super) fn judge(servers: &[Server], report: &mut Report) {
    let is_standalone = servers.iter().all(|server| server.mode() == "standalone");
    let alone = is_standalone.then(|| {
        let found = format!("{}standalone", servers[0].label);
        checks::STANDALONE.finds(Severity::Warning, found, "an ensemble")
    });
    report.note(&checks::STANDALONE, alone);
    if is_standalone {
        "standalone".clone_into(&mut report.about.role);
        return;
    }
    let size = judge_members(servers, report);
    report.about.role = match size {
        Some(size) => format!("ensemble of {size} servers"),
        None => "ensemble".to_owned(),
    };
    judge_followers(servers, size, report);
}

/// The number of servers in the configuration, if that may be read.
fn judge_members(servers: &[Server], report: &mut Report) -> Option<usize> {
    let conf = match &servers[0].conf {
        Ok(conf) => conf,
        Err(why) => {
            report.no_answer(&checks::MEMBERS, why, WHITELIST);
            return None;
        }
    };
    let size = conf.count("server.");
    if size == 0 {
        report.no_answer(
            &checks::MEMBERS,
            "its configuration has no servers",
            WHITELIST,
        );
        return None;
    }
    let even = (size % 2 == 0).then(|| {
        let found = format!("{size} servers");
        checks::MEMBERS.finds(Severity::Warning, found, "3 or 5 servers")
    });
    report.note(&checks::MEMBERS, even);
    Some(size)
}

/// The leader counts the servers that have what it has.
fn judge_followers(servers: &[Server], size: Option<usize>, report: &mut Report) {
    let leader = servers.iter().find(|server| server.mode() == "leader");
    let Some(leader) = leader else {
        let why = "none of the servers in the URL leads";
        return report.no_answer(
            &checks::FOLLOWERS,
            why,
            "all servers of the ensemble in the URL",
        );
    };
    let mntr = match &leader.mntr {
        Ok(mntr) => mntr,
        Err(why) => return report.no_answer(&checks::FOLLOWERS, why, WHITELIST),
    };
    let follow = mntr.number::<usize>("zk_synced_followers");
    let (Some(follow), Some(size)) = (follow, size) else {
        return report.no_answer(&checks::FOLLOWERS, "mntr has no such number", WHITELIST);
    };
    let few = (follow + 1 < size).then(|| {
        let found = format!("{}{follow} servers follow", leader.label);
        let wanted = format!("{} of {size}", size - 1);
        checks::FOLLOWERS.finds(Severity::Warning, found, wanted)
    });
    report.note(&checks::FOLLOWERS, few);
}

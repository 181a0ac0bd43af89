//! The rights of the account.

use dlock_servers::redis::{Node, Persistence};
use dlock_verify::{ensure, support::Outcome};
use libtest_mimic::Trial;

use super::server::start;
use crate::support::{quick_holds, ran, trial};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "redis::the_rights_of_the_readme_suffice",
            the_rights_of_the_readme_suffice,
        ),
        trial("redis::a_user_without_rights", a_user_without_rights),
    ]
}

/// The rights in some rows of the README's table, as rules.
fn rights(rows: &[&str]) -> Vec<String> {
    let readme = include_str!("../../../../dlock-redis/README.md");
    let row = |row: &&str| {
        readme
            .lines()
            .find(|line| line.starts_with(&format!("| {row} |")))
    };
    let commands = rows
        .iter()
        .filter_map(row)
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let commands = commands.filter(|word| word.chars().all(|c| c.is_uppercase() || c == ' '));
    let rules = commands.map(|command| format!("+{}", command.to_lowercase().replace(' ', "|")));
    rules.collect()
}

/// A server with an account that has only these rights.
async fn with_account(rows: &[&str]) -> Outcome<(Node, String)> {
    let node = start(Persistence::AofAlways, &[]).await?;
    let mut user = vec!["ACL", "SETUSER", "shop", "on", ">secret", "-@all"];
    user.extend(["~dlock:*", "&{dlock:*"]);
    let rights = rights(rows);
    user.extend(rights.iter().map(String::as_str));
    node.command(&user).await?;
    let url = format!("redis://shop:secret@{}?restart_guard=0s", node.address());
    Ok((node, url))
}

async fn the_rights_of_the_readme_suffice() -> Outcome {
    let rows = ["all: connections", "all: locks", "recommended"];
    let (_node, url) = with_account(&rows).await?;
    let ran = ran(&[&url, "--quick"]).await?;
    // Of what it may not read, each id is named.
    ensure!(ran.code == 2, "{ran:#?}");
    ensure!(ran.stdout.contains("unknown: redis."), "{}", ran.stdout);
    ensure!(!ran.stdout.contains("could not check"), "{}", ran.stdout);
    let accepted = ["redis.restart", "redis.idle-timeout", "redis.latency"];
    quick_holds(&url, &accepted).await?;
    let rows = [&rows[..], &["`dlock verify`"]].concat();
    let (_node, url) = with_account(&rows).await?;
    quick_holds(&url, &[]).await?;
    Ok(())
}

/// As a wrong password: no verdict, and a code of its own.
async fn a_user_without_rights() -> Outcome {
    let (_node, url) = with_account(&["all: connections"]).await?;
    let ran = ran(&[&url, "--quick"]).await?;
    ensure!(
        ran.code == 64 && ran.stderr.lines().count() == 1 && ran.stdout.is_empty(),
        "{ran:#?}"
    );
    Ok(())
}

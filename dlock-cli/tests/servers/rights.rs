//! A migration whose user lacks a right in one of the stores: nothing is begun.

use std::process::Output;

use dlock_servers::{
    etcd::{self, Login},
    mysql, redis,
};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available},
};
use libtest_mimic::Trial;
use serde_json::json;
use tempfile::TempDir;

use crate::{migrate::dlock, server::Server, support::trial};

/// Above the tokens of all stores.
const BASE: &str = "token_base=9007199254740992";

/// The reason of a refusal.
const RECORD: &str = "the record of a migration may not be written, so nothing was begun";

/// `dlock/`, and the end of the keys that begin so, in base64.
const KEYS: [&str; 2] = ["ZGxvY2sv", "ZGxvY2sw"];

pub(crate) fn trials() -> Vec<Trial> {
    let of = |name: &str, found, case| if_available(name, found, vec![case]);
    [
        of(
            redis::Node::NAME,
            <redis::Node as Server>::find(),
            trial("redis::a_user_without_the_locks", redis_locks),
        ),
        of(
            etcd::Node::NAME,
            <etcd::Node as Server>::find(),
            trial("etcd::a_user_who_may_only_read", etcd_read),
        ),
        of(
            mysql::Node::NAME,
            <mysql::Node as Server>::find(),
            trial("mysql::a_user_who_may_only_read_the_record", mysql_record),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The user may read and write the keys of dlock itself, and so the record.
async fn redis_locks() -> Outcome {
    let server = <redis::Node as Server>::start().await?;
    let rights = [
        "ACL",
        "SETUSER",
        "app",
        "on",
        ">hunter2",
        "~dlock:{*",
        "&*",
        "+@all",
    ];
    server.command(&rights).await?;
    let address = server.address();
    let poor = format!("redis://app:hunter2@{address}?restart_guard=0s");
    let why = "programs cannot lock in redis://app:***@";
    refuses(&poor, &Server::url(&server), why).await
}

/// The user may read all keys, and so the record.
async fn etcd_read() -> Outcome {
    let options = etcd::Options {
        login: Login::Root("p".to_owned()),
        ..etcd::Options::default()
    };
    let server = etcd::Node::start(&etcd::Flavour::Newest.find()?, &options).await?;
    let [key, end] = KEYS;
    let right = json!({"permType": "READ", "key": key, "range_end": end});
    for (path, request) in [
        ("user/add", json!({"name": "app", "password": "hunter2"})),
        ("role/add", json!({"name": "reader"})),
        ("role/grant", json!({"name": "reader", "perm": right})),
        ("user/grant", json!({"user": "app", "role": "reader"})),
    ] {
        server.call(&format!("/v3/auth/{path}"), &request).await?;
    }
    let address = server.address();
    let [poor, all] =
        ["app:hunter2", "root:p"].map(|user| format!("etcd://{user}@{address}?ttl=10s"));
    refuses(&poor, &all, "programs cannot lock in etcd://app:***@").await
}

/// The user may lock.
async fn mysql_record() -> Outcome {
    let server = <mysql::Node as Server>::start().await?;
    let all = Server::url(&server);
    // It makes the tables.
    let made = dlock(&["setup", &all]).output().await?;
    ensure!(made.status.success(), "{made:?}");
    server
        .query("CREATE USER poor IDENTIFIED BY 'hunter2'")
        .await?;
    for table in ["dlock_locks", "dlock_epoch", "dlock_asked"] {
        let grant = format!("GRANT SELECT, INSERT, UPDATE, DELETE ON locks.{table} TO poor");
        server.query(&grant).await?;
    }
    server
        .query("GRANT SELECT ON locks.dlock_migrations TO poor")
        .await?;
    refuses(&all.replace("//app:", "//poor:"), &all, RECORD).await
}

/// A migration is refused, and has changed nothing, if the store has the URL `poor` on one of its sides. With `all` the
/// same store can be read and written.
async fn refuses(poor: &str, all: &str, why: &str) -> Outcome {
    for is_old in [true, false] {
        let folder = TempDir::new()?;
        let files = format!("file:{}", folder.path().display());
        let order = |store: &str| match is_old {
            true => [store.to_owned(), format!("{files}?{BASE}")],
            false => [files.clone(), format!("{store}&{BASE}")],
        };
        let [old, new] = order(poor);
        let refused = dlock(&["migrate", "start", &old, &new]).output().await?;
        ensure!(refused.status.code() == Some(64), "{refused:?}");
        let err = text(&refused);
        ensure!(
            err.contains(why) && !err.contains("hunter2"),
            "no {why} in {err}"
        );
        let [old, new] = order(all);
        let words = ["migrate", "status", &old, &new, "--json"];
        let status = dlock(&words).output().await?;
        let out = String::from_utf8_lossy(&status.stdout);
        ensure!(out.contains("\"old\":null,\"new\":null"), "{is_old}: {out}");
    }
    // It is the right that was missing.
    let folder = TempDir::new()?;
    let (old, new) = (
        format!("file:{}", folder.path().display()),
        format!("{all}&{BASE}"),
    );
    let begun = dlock(&["migrate", "start", &old, &new]).output().await?;
    ensure!(begun.status.success(), "{}", text(&begun));
    Ok(())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

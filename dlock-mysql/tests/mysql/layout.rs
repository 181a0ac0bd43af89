//! The tables: what they have is the layout of its version, and another version is refused.

use dlock::ErrorKind;
use dlock_servers::mysql::{Flavour, Node, Options};
use dlock_verify::support::refused;

use crate::support::{Outcome, TTL_LONG, cases, open, start, take, until_granting};

cases![
    the_tables_are_those_of_layout_2,
    another_layout_is_refused_with_both_numbers,
    tables_without_a_layout_are_refused,
    what_a_later_release_adds_does_not_matter,
];

/// All columns, by their tables. A change here raises `LAYOUT` in dlock-mysql, unless older programs
/// need not know of it.
const COLUMNS: &str = "\
dlock_asked.id bigint NO
dlock_asked.name varbinary NO
dlock_asked.since timestamp NO
dlock_asked.holder varbinary NO
dlock_epoch.id tinyint NO
dlock_epoch.epoch bigint NO
dlock_epoch.boot bigint NO
dlock_epoch.base bigint NO
dlock_epoch.next_boot bigint NO
dlock_epoch.guarded_since bigint NO
dlock_epoch.ttl_max int NO
dlock_epoch.ttl_max_before int NO
dlock_epoch.period bigint NO
dlock_epoch.layout int NO
dlock_locks.name varbinary NO
dlock_migrations.prefix varbinary NO
dlock_migrations.record varbinary NO
dlock_migrations.changes bigint NO";

/// Set with the columns.
const LAYOUT: &str = "2";

/// A prefix and a name are one key, as bytes.
const KEY: &str = "703A2F614174C3A4";

async fn the_tables_are_those_of_layout_2(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let columns = "SELECT CONCAT(table_name, '.', column_name), data_type, is_nullable FROM \
                   information_schema.columns WHERE table_schema = 'locks' ORDER BY table_name, \
                   ordinal_position";
    let columns = node.query(columns).await?;
    let columns: Vec<_> = columns.iter().map(|row| row.join(" ")).collect();
    assert_eq!(columns.join("\n"), COLUMNS);
    let layouts = node
        .query("SELECT id, layout FROM locks.dlock_epoch ORDER BY id")
        .await?;
    assert_eq!(layouts, [["1", LAYOUT], ["2", LAYOUT]]);
    node.query("DELETE FROM locks.dlock_locks").await?;
    let locker = open(&format!("{}?prefix=p:", node.url()), TTL_LONG).await?;
    take(&locker, "/aAt\u{e4}").await?.release().await?;
    let keys = node
        .query("SELECT HEX(name) FROM locks.dlock_locks")
        .await?;
    assert_eq!(keys, [[KEY]]);
    Ok(())
}

async fn another_layout_is_refused_with_both_numbers(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut locker = open(&node.url(), TTL_LONG).await?;
    for (other, advice) in [
        ("0", "upgrade the other programs"),
        ("3", "upgrade this dlock"),
    ] {
        node.query(&format!("UPDATE locks.dlock_epoch SET layout = {other}"))
            .await?;
        let error = refused(open(&node.url(), TTL_LONG).await)?;
        let line = error.to_string();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{line}");
        let both = [&format!("layout {other}"), "layout 2", advice, "database"];
        assert!(both.iter().all(|words| line.contains(*words)), "{line}");
        // A client that is connected already goes on.
        take(&locker, "a").await?.release().await?;
    }
    node.query("UPDATE locks.dlock_epoch SET layout = 2")
        .await?;
    locker = open(&node.url(), TTL_LONG).await?;
    Ok(take(&locker, "a").await?.release().await?)
}

/// Tables from before the layout was recorded in them.
async fn tables_without_a_layout_are_refused(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query("ALTER TABLE locks.dlock_epoch DROP COLUMN layout")
        .await?;
    let error = refused(open(&node.url(), TTL_LONG).await)?;
    let line = error.to_string();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{line}");
    assert!(
        line.contains("layout 0") && line.contains("layout 2"),
        "{line}"
    );
    Ok(())
}

/// One after another the programs of a fleet are upgraded: this one is older than those that made the
/// tables.
async fn what_a_later_release_adds_does_not_matter(flavour: Flavour) -> Outcome {
    let node = Node::start(flavour, &Options::default()).await?;
    let early = open(&node.url(), TTL_LONG).await?;
    for table in ["dlock_locks", "dlock_epoch", "dlock_asked"] {
        let add = format!("ALTER TABLE locks.{table} ADD later INT NOT NULL DEFAULT 7 FIRST");
        node.query(&add).await?;
    }
    node.query(
        "INSERT INTO locks.dlock_epoch (id, epoch, boot, base, layout) VALUES (9, 9, 9, 9, 9); \
         CREATE TABLE locks.dlock_later (id INT)",
    )
    .await?;
    until_granting(&node).await?;
    let late = open(&node.url(), TTL_LONG).await?;
    let committed = open(&format!("{}?token=committed", node.url()), TTL_LONG).await?;
    for (locker, other) in [(&early, &late), (&late, &early), (&committed, &late)] {
        let guard = take(locker, "a").await?;
        assert!(other.try_acquire("a").await?.is_none());
        let holder = other.inspect("a").await?;
        assert!(holder.is_some_and(|holder| holder.attempt == Some(guard.id())));
        guard.renew().await?;
        guard.release().await?;
    }
    Ok(())
}

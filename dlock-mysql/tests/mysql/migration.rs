//! The record of a migration: a row of a table that a database of an earlier release does not have.

use std::time::Duration;

use dlock::{Effect, ErrorKind};
use dlock_core::{
    AttemptId,
    backend::{DistributedLock as _, Migration, MigrationStage},
};
use dlock_mysql::{MySqlConfig, MySqlLock};
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::{
    migration_record::{self, is_unknown, of as record},
    proxy::{Direction::ToClient, End, Fault, Proxy},
    support::refused,
};

use crate::support::{Outcome, TTL_LONG, cases, execute, open, root, soon, start, take, until};

cases![
    the_record_changes_only_from_what_is_expected,
    each_client_sees_the_changes_of_the_other,
    each_prefix_has_a_record,
    a_change_whose_reply_is_lost_is_unknown,
    a_text_of_any_bytes_is_never_expected,
    a_text_that_is_too_long_is_refused,
    a_database_of_an_earlier_release_gets_the_table,
    an_account_that_may_not_create_the_table_says_so,
    an_account_of_an_earlier_release_connects_until_a_migration_begins,
    a_replica_does_not_read_the_record,
    a_record_beside_a_backup_is_read,
    a_crash_keeps_the_record,
    a_closed_backend_reads_no_record,
];

/// The reply is not there when the change is seen in the table. It is within the time-out of a request.
const REPLY_AFTER: Duration = Duration::from_secs(1);

const DROP: &str = "DROP TABLE locks.dlock_migrations";

/// A backend for an account whose password is that of the user of the locks.
async fn connect_as(node: &Node, user: &str) -> dlock::Result<MySqlLock> {
    let config = MySqlConfig::new(node.address(), user, "locks");
    MySqlLock::connect(config.password("hunter2")).await
}

async fn connect(node: &Node) -> dlock::Result<MySqlLock> {
    connect_as(node, "app").await
}

async fn the_record_changes_only_from_what_is_expected(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(&node).await?;
    migration_record::changes_only_from_what_is_expected(record(&backend)?).await?;
    let rows = "SELECT HEX(prefix), record, changes FROM locks.dlock_migrations";
    assert_eq!(node.query(rows).await?, [["", "b", "3"]]);
    Ok(())
}

async fn each_client_sees_the_changes_of_the_other(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (one, two) = (connect(&node).await?, connect(&node).await?);
    migration_record::no_change_is_lost(record(&one)?, record(&two)?, 50).await
}

async fn each_prefix_has_a_record(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut backends = Vec::new();
    for prefix in migration_record::PREFIXES {
        let config = MySqlConfig::new(node.address(), "app", "locks").password("hunter2");
        backends.push(MySqlLock::connect(config.prefix(prefix)).await?);
    }
    let records: Outcome<Vec<_>> = backends.iter().map(record).collect();
    migration_record::are_records_of_their_own(&records?).await
}

async fn a_change_whose_reply_is_lost_is_unknown(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let config = MySqlConfig::new(proxy.address(), "app", "locks").password("hunter2");
    let backend = MySqlLock::connect(config).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "0").await?);
    for number in 0..3 {
        let (was, next) = (number.to_string(), (number + 1).to_string());
        let connections = proxy.connections();
        for connection in &connections {
            connection.set(ToClient, Fault::Delay(REPLY_AFTER));
        }
        let lost = Box::pin(async {
            until("it is written", async || {
                let rows = node
                    .query("SELECT record FROM locks.dlock_migrations")
                    .await?;
                Ok(rows == [[&*next]])
            })
            .await?;
            for connection in &connections {
                connection.end(End::Reset);
            }
            Outcome::Ok(())
        });
        let both = async { tokio::join!(record.compare_and_set(Some(&was), &next), lost) };
        let (changed, lost) = soon("the reply is lost", both).await?;
        lost?;
        is_unknown(changed)?;
        assert_eq!(record.read().await?, Some(next));
    }
    Ok(())
}

async fn a_text_of_any_bytes_is_never_expected(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(&node).await?;
    let record = record(&backend)?;
    node.query("INSERT INTO locks.dlock_migrations (prefix, record) VALUES ('', x'fc00')")
        .await?;
    let found = record.read().await?.ok_or("it is not there")?;
    assert!(!record.compare_and_set(Some(&found), "a").await?);
    assert!(!record.compare_and_set(None, "a").await?);
    Ok(())
}

async fn a_text_that_is_too_long_is_refused(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(&node).await?;
    let record = record(&backend)?;
    let longest = "x".repeat(2_048);
    let error = refused(record.compare_and_set(None, &format!("{longest}x")).await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(record.compare_and_set(None, &longest).await?);
    assert!(record.compare_and_set(Some(&longest), "a").await?);
    Ok(())
}

async fn a_database_of_an_earlier_release_gets_the_table(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query(DROP).await?;
    let backend = connect(&node).await?;
    let record = record(&backend)?;
    assert_eq!(record.read().await?, None);
    assert!(!record.compare_and_set(Some("a"), "b").await?);
    let tables = "SHOW TABLES FROM locks LIKE 'dlock_migrations'";
    assert!(node.query(tables).await?.is_empty());
    assert!(record.compare_and_set(None, "a").await?);
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn an_account_that_may_not_create_the_table_says_so(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query(DROP).await?;
    node.query("REVOKE CREATE ON locks.* FROM app").await?;
    let backend = connect(&node).await?;
    let record = record(&backend)?;
    assert_eq!(record.read().await?, None);
    let error = refused(record.compare_and_set(None, "a").await)?;
    let found = (error.kind(), error.effect());
    assert_eq!(found, (ErrorKind::Denied, Effect::None), "{error}");
    assert!(error.to_string().contains("dlock setup --print"), "{error}");
    for statement in dlock_mysql::setup_statements() {
        node.query(&format!("USE locks; {statement}")).await?;
    }
    assert!(record.compare_and_set(None, "a").await?);
    Ok(())
}

/// Such an account has rights to the tables of its release alone.
async fn an_account_of_an_earlier_release_connects_until_a_migration_begins(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    node.query("CREATE USER poor IDENTIFIED BY 'hunter2'")
        .await?;
    for table in ["dlock_locks", "dlock_epoch", "dlock_asked"] {
        let grant = format!("GRANT SELECT, INSERT, UPDATE, DELETE ON locks.{table} TO poor");
        node.query(&grant).await?;
    }
    let url = node.url().replace("//app:", "//poor:");
    let (operator, poor) = (connect(&node).await?, connect_as(&node, "poor").await?);
    for prepare in ["DO 1", DROP] {
        node.query(prepare).await?;
        assert_eq!(record(&poor)?.read().await?, None, "{prepare}");
        let locker = open(&url, TTL_LONG).await?;
        take(&locker, "a").await?.release().await?;
        let error = refused(record(&poor)?.compare_and_set(None, "a").await)?;
        let found = (error.kind(), error.effect());
        assert_eq!(found, (ErrorKind::Denied, Effect::None), "{error}");
        assert!(error.to_string().contains("dlock setup --print"), "{error}");
    }
    let migration = Migration {
        stage: MigrationStage::Left,
        id: AttemptId::from_u128(7),
        since_unix_micros: 1,
        by: "1@a".to_owned(),
        other: "etcd://etcd-1".to_owned(),
        token_base: 0,
        own_base: 0,
    };
    let text = migration.to_string();
    assert!(record(&operator)?.compare_and_set(None, &text).await?);
    for error in [
        refused(record(&poor)?.read().await)?,
        refused(open(&url, TTL_LONG).await)?,
    ] {
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("GRANT SELECT"), "{error}");
    }
    node.query("GRANT SELECT ON locks.dlock_migrations TO poor")
        .await?;
    let error = refused(open(&url, TTL_LONG).await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(
        error.to_string().contains("have moved to etcd://etcd-1"),
        "{error}"
    );
    Ok(())
}

async fn a_replica_does_not_read_the_record(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    // It may write to a replica.
    node.query("GRANT ALL ON *.* TO app").await?;
    let backend = connect(&node).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    node.query("SET GLOBAL read_only = 1").await?;
    for answer in [
        record.read().await.map(drop),
        record.compare_and_set(Some("a"), "b").await.map(drop),
    ] {
        let error = refused(answer)?;
        let found = (error.kind(), error.effect());
        assert_eq!(found, (ErrorKind::Unavailable, Effect::None), "{error}");
        assert!(error.to_string().contains("read-only"), "{error}");
    }
    node.query("SET GLOBAL read_only = 0").await?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn a_record_beside_a_backup_is_read(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(&node).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    let mut backup = root(&node).await?;
    execute(&mut backup, "FLUSH TABLES WITH READ LOCK").await?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    let error = refused(record.compare_and_set(Some("a"), "b").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    execute(&mut backup, "UNLOCK TABLES").await?;
    assert!(record.compare_and_set(Some("a"), "b").await?);
    Ok(())
}

async fn a_crash_keeps_the_record(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let backend = connect(&node).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    assert!(record.compare_and_set(Some("a"), "b").await?);
    node.restart().await?;
    until("it is read", async || Ok(record.read().await.is_ok())).await?;
    assert_eq!(record.read().await?.as_deref(), Some("b"));
    Ok(())
}

async fn a_closed_backend_reads_no_record(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(&node).await?;
    backend.close().await?;
    migration_record::is_refused_when_closed(record(&backend)?).await
}

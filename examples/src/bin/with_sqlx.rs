//! A write to a database that carries the fencing token. A holder that was paused for longer than its lease writes
//! late, and the database refuses.
//!
//! `cargo run -p dlock-examples --bin with_sqlx -- mysql://user:password@localhost/shop`. The locks are in `memory:`, or
//! in the store of a second URL.

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::error::Error;

use dlock::{Locker, Token};
use sqlx::MySqlPool;

/// A `BIGINT` is enough for every token.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS documents
    (name VARCHAR(100) PRIMARY KEY, text TEXT NOT NULL, token BIGINT NOT NULL)";

/// Compares and writes in one step. A smaller token than that of the last write changes nothing.
const WRITE: &str = "UPDATE documents SET text = ?, token = ? WHERE name = ? AND token <= ?";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut urls = std::env::args().skip(1);
    let database = urls.next().ok_or("no URL of a database")?;
    let locks = dlock::connect(urls.next().as_deref().unwrap_or("memory:")).await?;
    let pool = MySqlPool::connect(&database).await?;
    for line in run(&locks, &pool).await? {
        println!("{line}");
    }
    Ok(())
}

/// Two holders write one after the other, then the first one again: the lines say what became of it.
pub(crate) async fn run(
    locks: &Locker,
    pool: &MySqlPool,
) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    sqlx::query(TABLE).execute(pool).await?;
    sqlx::query("INSERT IGNORE INTO documents VALUES ('report', '', 0)")
        .execute(pool)
        .await?;

    let alice = locks.acquire("documents/report").await?;
    let token = alice.token();
    let first = write(pool, token, "by alice").await?;
    alice.release().await?;

    let bob = locks.acquire("documents/report").await?;
    let second = write(pool, bob.token(), "by bob").await?;
    bob.release().await?;

    // What a process does that was paused between its last check of the guard and this write.
    let late = write(pool, token, "by alice, late").await?;
    let answers = [("alice", first), ("bob", second), ("alice, late", late)];
    let lines = answers.map(|(writer, is_written)| {
        let answer = if is_written { "accepted" } else { "refused" };
        format!("{writer}: {answer}")
    });
    Ok(lines.into())
}

/// Writes `text` under `token`; false when a later holder has written already.
async fn write(pool: &MySqlPool, token: Token, text: &str) -> sqlx::Result<bool> {
    let written = sqlx::query(WRITE)
        .bind(text)
        .bind(token.as_i64())
        .bind("report")
        .bind(token.as_i64())
        .execute(pool)
        .await?;
    // sqlx counts the rows that the condition found, also if the new values are the old ones.
    Ok(written.rows_affected() == 1)
}

//! A server that follows another one.

use std::{io, time::Duration};

use super::{Flavour, Node};

impl Node {
    /// Makes the server repeat what `primary` does from now on, and nothing of another one. It needs the right
    /// `REPLICATION SLAVE` for the user, another `--server-id`, and `--log-bin` at the primary.
    ///
    /// # Errors
    ///
    /// When one of them does not answer within 10 s, or refuses.
    pub async fn follow(&self, primary: &Self) -> io::Result<()> {
        self.follow_late(primary, Duration::ZERO).await
    }

    /// As [`follow`](Self::follow), but applies each change so much later, in whole seconds.
    ///
    /// # Errors
    ///
    /// As [`follow`](Self::follow).
    pub async fn follow_late(&self, primary: &Self, delay: Duration) -> io::Result<()> {
        primary.stop_following().await?;
        let (status, change, start) = match self.flavour() {
            Flavour::MySqlNewest => (
                "SHOW BINARY LOG STATUS",
                "CHANGE REPLICATION SOURCE TO GET_SOURCE_PUBLIC_KEY=1, SOURCE_",
                "START REPLICA",
            ),
            Flavour::MariaDbStable => (
                "SHOW MASTER STATUS",
                "CHANGE MASTER TO MASTER_",
                "START SLAVE",
            ),
        };
        let rows = primary.query(status).await?;
        let Some([file, position, ..]) = rows.first().map(Vec::as_slice) else {
            return Err(io::Error::other("the primary has no binary log"));
        };
        let parts = [
            "HOST='127.0.0.1'".to_owned(),
            format!("PORT={}", primary.address().port()),
            format!("USER='{}'", Self::USER),
            format!("PASSWORD='{}'", Self::PASSWORD),
            format!("LOG_FILE='{file}'"),
            format!("LOG_POS={position}"),
            format!("DELAY={}", delay.as_secs()),
        ];
        let (_, prefix) = change.rsplit_once(' ').unwrap_or_default();
        let change = format!("{change}{}", parts.join(&format!(", {prefix}")));
        self.query(&format!("{change}; {start}")).await.map(drop)
    }

    /// Gives a table the rows of the same table at `from`, and no others: a server that does not follow any more may lack
    /// some. Text in them has no backslashes.
    ///
    /// # Errors
    ///
    /// When one of them does not answer within 10 s, or refuses.
    pub async fn copy_table(&self, from: &Self, table: &str) -> io::Result<()> {
        let columns = "SELECT GROUP_CONCAT(CONCAT('QUOTE(', column_name, ')') ORDER BY ordinal_position SEPARATOR ', ') \
                       FROM information_schema.columns WHERE CONCAT(table_schema, '.', table_name)";
        let columns = from.query(&format!("{columns} = '{table}'")).await?;
        let columns = columns.concat().concat();
        let rows = from
            .query(&format!("SELECT {columns} FROM {table}"))
            .await?;
        let rows = rows.iter().map(|row| format!("({})", row.join(", ")));
        let insert = match rows.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => String::new(),
            rows => format!("INSERT INTO {table} VALUES {rows};"),
        };
        let replace = format!("BEGIN; DELETE FROM {table}; {insert} COMMIT");
        self.query(&replace).await.map(drop)
    }

    /// Ends that the server follows another one.
    ///
    /// # Errors
    ///
    /// When it does not answer within 10 s, or refuses.
    pub async fn stop_following(&self) -> io::Result<()> {
        let stop = match self.flavour() {
            Flavour::MySqlNewest => "STOP REPLICA; RESET REPLICA ALL",
            Flavour::MariaDbStable => "STOP SLAVE; RESET SLAVE ALL",
        };
        self.query(stop).await.map(drop)
    }
}

//! Checking the tables, and creating them if they are missing.

use dlock_core::{Clock, Error, ErrorKind, Result};

use crate::{
    config::MySqlConfig,
    conn::connection::Connection,
    errors,
    sql::tables::{ASKED, CREATE, EPOCH, LAYOUT, LAYOUT_UNVERSIONED, LOCKS},
};

/// Checks the tables, and creates them if they are missing. Another client may create them at this moment and
/// lock them for that long.
pub(crate) async fn ensure_tables(
    connection: &mut Connection,
    clock: &Clock,
    config: &MySqlConfig,
) -> Result<()> {
    let end = clock.now().after(config.timeouts.reply);
    loop {
        match check_tables(connection, clock, config).await {
            Err(error) if errors::is_contended(&error) && clock.now() < end => {}
            checked => return checked.map_err(errors::of_table_statement),
        }
    }
}

async fn check_tables(
    connection: &mut Connection,
    clock: &Clock,
    config: &MySqlConfig,
) -> Result<()> {
    if !check_layout(connection, clock, config).await? {
        create(connection, clock, config).await?;
        check_layout(connection, clock, config).await?;
    }
    let sql = format!(
        "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE() \
         AND table_name IN ('{LOCKS}', '{EPOCH}')"
    );
    for row in connection.query(clock, &sql, config.timeouts.reply).await? {
        let text = |column: usize| row.get(column).and_then(Option::as_deref);
        if text(1) != Some("InnoDB") {
            let (table, engine) = (text(0).unwrap_or("?"), text(1).unwrap_or("?"));
            let why = format!(
                "{table} is a table of {engine}, which has no row locks; an administrator runs ALTER \
                 TABLE {table} ENGINE=InnoDB"
            );
            return Err(Error::new(ErrorKind::InvalidConfig, why));
        }
    }
    Ok(())
}

/// Whether the tables are there.
///
/// # Errors
///
/// `InvalidConfig` for tables of another layout.
async fn check_layout(
    connection: &mut Connection,
    clock: &Clock,
    config: &MySqlConfig,
) -> Result<bool> {
    let select = format!(
        "SELECT 1 FROM {LOCKS} LIMIT 0; SELECT 1 FROM {ASKED} LIMIT 0; SELECT layout FROM {EPOCH} WHERE \
         id = 1"
    );
    let found = match connection
        .query(clock, &select, config.timeouts.reply)
        .await
    {
        Ok(rows) => match rows.first().and_then(|row| row.first()) {
            Some(found) => found.clone().unwrap_or_default(),
            None => return Ok(false),
        },
        Err(error) if errors::is_no_table(&error) => return Ok(false),
        Err(error) if errors::is_no_column(&error) => LAYOUT_UNVERSIONED.to_owned(),
        Err(error) => return Err(error),
    };
    LAYOUT.check("mysql", &found).map(|()| true)
}

async fn create(connection: &mut Connection, clock: &Clock, config: &MySqlConfig) -> Result<()> {
    for statement in CREATE {
        let made = connection
            .query(clock, statement, config.timeouts.connect)
            .await;
        made.map_err(|error| match error.kind() {
            ErrorKind::Denied => {
                let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
                let why = format!(
                    "a table of dlock or its row is missing, and the account may not make it; an administrator runs \
                     what dlock setup --print shows, first: {statement}"
                );
                Error::new(ErrorKind::Denied, why)
            }
            _ => error,
        })?;
    }
    Ok(())
}

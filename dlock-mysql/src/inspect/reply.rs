//! The holder's side of an inspection: it answers the questions for its locks.

use std::sync::Arc;

use dlock_core::Result;

use crate::{
    conn::{control::ControlTurn, pool::Pool},
    hold::handle::Hold,
    keys,
    sql::{row::number, tables::ASKED},
};

/// Answers the pending inspections of `holds`.
pub(crate) async fn answer_inspections(pool: Arc<Pool>, holds: Vec<Arc<Hold>>) {
    if let Err(error) = answer(&pool, &holds).await {
        tracing::debug!(%error, "cannot answer who holds a lock");
    }
}

async fn answer(pool: &Pool, holds: &[Arc<Hold>]) -> Result<()> {
    let pending = format!("SELECT id, LOWER(HEX(name)) FROM {ASKED} WHERE holder = ''");
    let Some(newest) = holds.iter().max_by_key(|hold| hold.since) else {
        return Ok(());
    };
    let (start, since) = (newest.session.start, newest.since);
    let query = move |mut turn: ControlTurn| async move {
        turn.follow(start, since).await?;
        turn.query(&pending).await
    };
    for row in pool.tables()?.run(query).await? {
        let Some(Some(name)) = row.get(1) else {
            continue;
        };
        let name = format!("x'{name}'");
        if let Some(hold) = holds.iter().find(|hold| keys::literal(&hold.row) == name) {
            let (id, holder) = (number(&row, 0)?, keys::literal(hold.holder.as_bytes()));
            let answer = format!("UPDATE {ASKED} SET holder = {holder} WHERE id = {id}");
            pool.tables()?.query(answer).await?;
        }
    }
    Ok(())
}

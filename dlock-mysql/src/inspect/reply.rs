//! Says who holds a lock, to those who ask.

use std::sync::Arc;

use dlock_core::Result;

use crate::{
    conn::pool::Pool,
    hold::Hold,
    keys::{self, ASKED},
    sql::server::number,
};

/// Answers what is asked at present about what is `held`.
pub(crate) async fn give(session: Arc<Pool>, held: Vec<Arc<Hold>>) {
    if let Err(error) = answer(&session, &held).await {
        tracing::debug!(%error, "cannot answer who holds a lock");
    }
}

async fn answer(session: &Pool, held: &[Arc<Hold>]) -> Result<()> {
    let look = format!("SELECT id, LOWER(HEX(name)) FROM {ASKED} WHERE holder = ''");
    for row in session.control()?.query(look).await? {
        let Some(Some(name)) = row.get(1) else {
            continue;
        };
        let name = format!("x'{name}'");
        if let Some(held) = held.iter().find(|held| keys::literal(&held.row) == name) {
            let holder = held.holder.to_string();
            let (id, holder) = (number(&row, 0)?, keys::literal(holder.as_bytes()));
            let answer = format!("UPDATE {ASKED} SET holder = {holder} WHERE id = {id}");
            session.control()?.query(answer).await?;
        }
    }
    Ok(())
}

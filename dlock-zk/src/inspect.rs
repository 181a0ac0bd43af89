//! The holder of a lock, for people who inspect it.

use dlock_core::{Holder, LockName, Result};
use zookeeper_client::Error as ZkError;

use crate::{
    config::ZkConfig,
    errors::Failure,
    keys::{self, Format},
    queue::order,
    session::Session,
};

/// How often the queue is listed again when its first node is deleted before it is read.
const TRIES_MAX: u32 = 10;

/// The holder of the lock `name`, if there is one.
///
/// # Errors
///
/// The servers do not answer, or the queue has nodes of another recipe.
pub(crate) async fn holder(
    session: &Session,
    config: &ZkConfig,
    name: &LockName,
) -> Result<Option<Holder>> {
    let directory = keys::directory(&config.prefix, name);
    let holder = first_of_queue(session, config.format, &directory).await;
    holder.map_err(Failure::into_error)
}

async fn first_of_queue(
    session: &Session,
    format: Format,
    directory: &str,
) -> Result<Option<Holder>, Failure> {
    let client = session.client()?;
    for _ in 0..TRIES_MAX {
        // The server may not know yet what other clients did.
        session.request(|| client.sync(directory)).await?;
        let children = match session.request(|| client.list_children(directory)).await {
            Err(ZkError::NoNode) => return Ok(None),
            children => children?,
        };
        let Some(first) = order::first(format, &children)? else {
            return Ok(None);
        };
        let path = format!("{directory}/{first}");
        match session.request(|| client.get_data(&path)).await {
            Err(ZkError::NoNode) => {}
            Err(error) => return Err(error.into()),
            Ok((data, stat)) => {
                let token = keys::token(stat.czxid)?;
                return Ok(Some(Holder::decode(&data, Some(token))));
            }
        }
    }
    Ok(None)
}

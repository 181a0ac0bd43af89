//! Nodes and directories: making and deleting them.

use std::time::Duration;

use zookeeper_client::{Acls, Client, CreateMode, Error as ZkError};

use crate::{
    config::ZkConfig,
    keys::{self, Format},
    session::Session,
};

/// The pause between two tries to find or delete a node.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Deletes a node of the session: retries until the deletion is confirmed, or the session has ended and
/// the node with it.
pub(crate) async fn delete_until_confirmed(session: &Session, path: &str) {
    while let Ok(client) = session.client() {
        match session.request(|| client.delete(path, None)).await {
            Ok(()) | Err(ZkError::NoNode) => return,
            Err(error) => tracing::debug!(%error, "a node is not deleted yet"),
        }
        // The last client that is dropped ends the session.
        drop(client);
        pause(session).await;
    }
}

/// Waits before a retry, and until there is a connection.
pub(crate) async fn pause(session: &Session) {
    tokio::time::sleep(RETRY_AFTER).await;
    session.connection.connected().await;
}

/// Creates a directory and those above it. With Curator's format the servers remove them when they have been empty for
/// a while.
pub(crate) async fn make_directory(
    client: &Client,
    path: &str,
    format: Format,
    acls: &Acls<'_>,
) -> Result<(), ZkError> {
    let containers = CreateMode::Container.with_acls(*acls);
    let plain = CreateMode::Persistent.with_acls(*acls);
    let mut parent_is_refused = false;
    for directory in keys::ancestors(path) {
        let mode = match format.has_containers() {
            true => &containers,
            false => &plain,
        };
        let created = match client.create(directory, &[], mode).await {
            Err(ZkError::Unimplemented) => client.create(directory, &[], &plain).await,
            created => created,
        };
        parent_is_refused = match created {
            Ok(_) | Err(ZkError::NodeExists) => false,
            // The login may have rights to a subtree only, which an administrator has created.
            Err(ZkError::NoAuth) if directory != path => true,
            // It has not been created.
            Err(ZkError::NoNode) if parent_is_refused => return Err(ZkError::NoAuth),
            Err(error) => return Err(error),
        };
    }
    Ok(())
}

/// The access rights of new nodes: with a login, for that login alone.
pub(crate) fn acls(config: &ZkConfig) -> Acls<'static> {
    match config.login.is_pair() {
        true => Acls::creator_all(),
        false => Acls::anyone_all(),
    }
}

//! The record of the layout: a node beside the locks that says of which version they are.
//!
//! It is made on the first contact with a prefix, and stays. Whoever may not read it or make it is let through: what
//! they may do to the locks is another question, which their requests answer.

use dlock_core::Result;
use zookeeper_client::{Acls, Client, CreateMode, Error as ZkError};

use crate::acquire::enqueue::acls;
use crate::acquire::enqueue::make_directory;
use crate::config::ZkConfig;
use crate::conn::connect::again;
use crate::errors;
use crate::keys as layout;
use crate::keys::LAYOUT;

/// How often it is looked for and made, while others make and remove it or the directory.
const TRIES_MAX: u32 = 5;

/// Compares the layout under the prefix with ours, and writes ours where there is none.
///
/// # Errors
///
/// `InvalidConfig`, with both numbers, if it is another one; or the servers do not answer.
pub(crate) async fn check(client: &Client, config: &ZkConfig) -> Result<()> {
    match again(|| find_or_make(client, &config.prefix, acls(config))).await {
        Ok(Some(data)) => {
            let text = String::from_utf8_lossy(&data);
            // What follows the version is for later ones.
            LAYOUT.check("zk", text.split_whitespace().next().unwrap_or_default())
        }
        Ok(None) => Ok(()),
        Err(ZkError::NoAuth | ZkError::InvalidAcl | ZkError::QuotaExceeded) => {
            tracing::debug!("the version of the layout can be neither read nor written");
            Ok(())
        }
        Err(error) => Err(errors::of_request(error)),
    }
}

/// What stands there; `None` if it is ours since now.
async fn find_or_make(
    client: &Client,
    prefix: &str,
    acls: Acls<'static>,
) -> Result<Option<Vec<u8>>, ZkError> {
    let path = layout::record(prefix);
    let version = LAYOUT.to_string();
    let options = CreateMode::Persistent.with_acls(acls);
    for _ in 0..TRIES_MAX {
        match client.get_data(&path).await {
            Err(ZkError::NoNode) => {}
            found => return found.map(|(data, _)| Some(data)),
        }
        match client.create(&path, version.as_bytes(), &options).await {
            // Somebody else was first: perhaps of another layout.
            Err(ZkError::NodeExists) => {}
            Err(ZkError::NoNode) if !prefix.is_empty() => {
                make_directory(client, prefix, &acls).await?;
            }
            made => return made.map(|_| None),
        }
    }
    Err(ZkError::NoNode)
}

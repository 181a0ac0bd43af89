//! The layout record: a node beside the locks with the version of their layout.
//!
//! The first client of a prefix creates it, and it stays. A client that may neither read nor create it is accepted:
//! its requests show what it may do to the locks.

use dlock_core::Result;
use zookeeper_client::{Client, CreateMode, Error as ZkError};

use crate::{
    config::ZkConfig,
    errors,
    keys::{self, Format},
    nodes::{acls, make_directory},
};

/// How often the record is read and created again while other clients create and delete it or the directory.
const TRIES_MAX: u32 = 5;

/// The record's data, or `None` if this client has created it now.
pub(super) async fn read_or_create(
    client: &Client,
    config: &ZkConfig,
) -> Result<Option<Vec<u8>>, ZkError> {
    let (prefix, acls) = (config.prefix.as_str(), acls(config));
    let path = keys::record(prefix);
    let version = config.format.layout().to_string();
    let options = CreateMode::Persistent.with_acls(acls);
    for _ in 0..TRIES_MAX {
        match client.get_data(&path).await {
            Err(ZkError::NoNode) => {}
            found => return found.map(|(data, _)| Some(data)),
        }
        match client.create(&path, version.as_bytes(), &options).await {
            // Another client was first, perhaps with another layout.
            Err(ZkError::NodeExists) => {}
            Err(ZkError::NoNode) if !prefix.is_empty() => {
                make_directory(client, prefix, config.format, &acls).await?;
            }
            created => return created.map(|_| None),
        }
    }
    Err(ZkError::NoNode)
}

/// Compares the layout under the prefix with that of this release.
///
/// # Errors
///
/// `InvalidConfig`, with both numbers or formats, if it is another one; or the servers do not answer.
pub(super) fn compare(format: Format, record: Result<Option<Vec<u8>>, ZkError>) -> Result<()> {
    match record {
        Ok(Some(data)) => {
            let text = String::from_utf8_lossy(&data);
            // Later releases may add text after the version.
            let version = text.split_whitespace().next();
            format.layout().check("zk", version.unwrap_or_default())
        }
        Ok(None) => Ok(()),
        Err(ZkError::NoAuth | ZkError::InvalidAcl | ZkError::QuotaExceeded) => {
            tracing::debug!("the version of the layout can be neither read nor written");
            Ok(())
        }
        Err(error) => Err(errors::of_request(error)),
    }
}

//! The record of a migration: a node beside that of the layout.
//!
//! A leader that the ensemble has replaced may answer reads until it notices, also after a `sync`. So a transaction
//! checks each answer: a majority has to commit it, also where the check fails.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{Error, ErrorKind, Result, backend::MigrationRecord};
use zookeeper_client::{Client, CreateMode, Error as ZkError};

use crate::{
    conn::sessions::Sessions,
    errors::Failure,
    keys,
    nodes::{acls, make_directory},
    session::Session,
};

/// How often the node is read or written again while other clients change it, or its directory.
const TRIES_MAX: u32 = 100;

/// The version of a node that a check passes for each one.
const ANY_VERSION: i32 = -1;

/// The record of a migration, by its node.
pub(crate) struct MigrationNode {
    sessions: Arc<Sessions>,
    path: String,
}

impl MigrationNode {
    pub(crate) fn new(sessions: Arc<Sessions>) -> Self {
        Self {
            path: keys::migration(&sessions.config.prefix),
            sessions,
        }
    }

    /// The data and version of the node, as a majority of the servers has them; `None` without a node.
    async fn current(&self, session: &Session) -> Result<Option<(Vec<u8>, i32)>, Failure> {
        let (client, path) = (session.client()?, &*self.path);
        for _ in 0..TRIES_MAX {
            let found = match session.request(|| client.get_data(path)).await {
                Err(ZkError::NoNode) => None,
                found => found.map(|(data, stat)| Some((data, stat.version)))?,
            };
            let version = found.as_ref().map_or(ANY_VERSION, |found| found.1);
            match (check(session, &client, path, version).await, &found) {
                (Ok(()), Some(_)) | (Err(ZkError::NoNode), None) => return Ok(found),
                // The server was behind, or the node has just been changed.
                (Ok(()), None) | (Err(ZkError::NoNode | ZkError::BadVersion), _) => {}
                (Err(error), _) => return Err(error.into()),
            }
        }
        Err(busy().into())
    }

    /// Creates the node; whether there was none.
    async fn create(&self, session: &Session, text: &str) -> Result<bool, Failure> {
        let config = &self.sessions.config;
        let (client, acls) = (session.client()?, acls(config));
        let options = CreateMode::Persistent.with_acls(acls);
        for _ in 0..TRIES_MAX {
            let create = || client.create(&self.path, text.as_bytes(), &options);
            match session.request(create).await {
                Ok(_) => return Ok(true),
                Err(ZkError::NodeExists) => return Ok(false),
                Err(ZkError::NoNode) if !config.prefix.is_empty() => {
                    let make = || make_directory(&client, &config.prefix, config.format, &acls);
                    session.request(make).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy().into())
    }

    /// Writes the node if its data is `expected`; whether it was.
    async fn set(&self, session: &Session, expected: &str, next: &str) -> Result<bool, Failure> {
        let client = session.client()?;
        for _ in 0..TRIES_MAX {
            let version = match self.current(session).await? {
                Some((data, version)) if data == expected.as_bytes() => version,
                _ => return Ok(false),
            };
            let set = || client.set_data(&self.path, next.as_bytes(), Some(version));
            match session.request(set).await {
                Ok(_) => return Ok(true),
                Err(ZkError::NoNode) => return Ok(false),
                // Perhaps by the same data.
                Err(ZkError::BadVersion) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy().into())
    }

    fn error(&self, failure: Failure) -> Error {
        match failure {
            Failure::Request(error @ ZkError::NoAuth) => {
                let why = format!(
                    "no permission for {}, the record of a migration; give user and password of the process that began it, \
                     or extend its ACL",
                    self.path
                );
                Error::new(ErrorKind::Denied, why).with_source(error)
            }
            failure => failure.into_error(),
        }
    }
}

#[async_trait]
impl MigrationRecord for MigrationNode {
    async fn read(&self) -> Result<Option<String>> {
        let session = self.sessions.any().await?;
        let found = self.current(&session).await;
        let found = found.map_err(|failure| self.error(failure))?;
        // A text of other bytes is no record, and never the expected one.
        Ok(found.map(|(data, _)| String::from_utf8_lossy(&data).into_owned()))
    }

    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
        let session = self.sessions.any().await?;
        let is_set = match expected {
            Some(expected) => self.set(&session, expected, next).await,
            None => self.create(&session, next).await,
        };
        is_set.map_err(|failure| self.error(failure))
    }
}

/// Checks the version of a node in a transaction.
async fn check(
    session: &Session,
    client: &Client,
    path: &str,
    version: i32,
) -> Result<(), ZkError> {
    let mut writer = client.new_multi_writer();
    writer.add_check_version(path, version)?;
    let commit = || {
        let commit = writer.commit();
        async { commit.await.map_err(ZkError::from) }
    };
    session.request(commit).await.map(drop)
}

fn busy() -> Error {
    let why = "other clients change the record of the migration again and again";
    Error::new(ErrorKind::Unavailable, why)
}

//! An attempt's node, made.

use zookeeper_client::{
    Acls, Client, CreateMode, CreateOptions, Error as ZkError, MultiWriteResult,
};

use crate::{
    layout::{self, Place},
    session::Session,
    take::Queued,
};

/// How often the lock's directory is made when it vanishes in between: the servers remove containers
/// that are empty (T49).
const DIRECTORY_TRIES_MAX: u32 = 5;

/// What a node is made of.
struct Making<'a> {
    session: &'a Session,
    client: Client,
    options: CreateOptions<'static>,
    place: &'a Place,
    data: &'a [u8],
}

/// Makes the node, in one round trip. The directory is made when it is missing.
pub(crate) async fn make(
    session: &Session,
    acls: Acls<'static>,
    place: &Place,
    data: &[u8],
) -> Result<Queued, ZkError> {
    let making = Making {
        session,
        client: session.client()?,
        options: CreateMode::EphemeralSequential.with_acls(acls),
        place,
        data,
    };
    let directories = &session.directories;
    let mut tries = 0;
    loop {
        let may_write = directories.may_write(&place.dir);
        let is_one = may_write == Some(true) && session.witness.knows();
        let made = if is_one {
            making.with_its_directory().await
        } else {
            making.and_list(may_write.is_none()).await
        };
        match made {
            Err(ZkError::NoNode) if tries < DIRECTORY_TRIES_MAX => {
                tries += 1;
                directories.forget(&place.dir);
                let made = make_directory(&making.client, &place.dir, &acls);
                if session.ask(made).await? {
                    directories.learn(&place.dir, true);
                }
            }
            Err(ZkError::NoAuth) if is_one => directories.learn(&place.dir, false),
            made => return made,
        }
    }
}

impl Making<'_> {
    /// In one transaction with a write to the directory, which says how many nodes it has then.
    async fn with_its_directory(&self) -> Result<Queued, ZkError> {
        let (session, dir) = (self.session, &self.place.dir);
        let writing = session.writing();
        let mut both = self.client.new_multi_writer();
        both.add_create(&self.place.prefix(), self.data, &self.options)?;
        both.add_set_data(dir, &[], None)?;
        let made = session.ask(async { Ok(both.commit().await?) }).await?;
        let [
            MultiWriteResult::Create { path, stat: node },
            MultiWriteResult::SetData { stat: directory },
        ] = &made[..]
        else {
            let why = "an answer of another shape".to_owned();
            return Err(ZkError::UnexpectedError(why));
        };
        // Servers before 3.8.2 do not describe a node that a transaction makes (ZOOKEEPER-4026).
        if !node.is_invalid() {
            self.check_owner(node.ephemeral_owner)?;
        } else if !session.witness.knows() {
            // Perhaps made in another session (T44): it is looked for.
            return Err(ZkError::ConnectionLoss);
        }
        session.acknowledged(writing);
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_alone = directory.num_children == 1;
        Ok(Queued {
            children: is_alone.then(|| vec![name.clone()]),
            // One transaction has one number.
            czxid: directory.mzxid,
            name,
        })
    }

    /// While the queue is asked for, and what the directory has if nobody knows.
    async fn and_list(&self, and_look: bool) -> Result<Queued, ZkError> {
        let (session, dir) = (self.session, &self.place.dir);
        let states = self.client.state_watcher();
        let stem = self.place.prefix();
        let writing = session.writing();
        let create = self.client.create(&stem, self.data, &self.options);
        let list = session.looks.children(&self.client, dir);
        let look = async {
            match and_look {
                true => self.client.get_data(dir).await.map(Some),
                false => Ok(None),
            }
        };
        let all = session.ask(async {
            let (created, listed, looked) = tokio::join!(create, list, look);
            created.map(|created| (created, listed.ok(), looked.ok().flatten()))
        });
        let ((stat, sequence), children, looked) = all.await?;
        self.check_owner(stat.ephemeral_owner)?;
        session.witness.saw(states);
        if let Some((data, _)) = looked {
            session.directories.learn(dir, data.is_empty());
        }
        session.acknowledged(writing);
        Ok(Queued {
            name: format!("{}{sequence}", self.place.stem),
            czxid: stat.czxid,
            children,
        })
    }

    fn check_owner(&self, owner: i64) -> Result<(), ZkError> {
        if self.session.owns(owner) {
            return Ok(());
        }
        self.session.end();
        Err(ZkError::SessionExpired)
    }
}

/// Makes a directory and those above it, which the servers remove when they have been empty for a while;
/// whether it was not there.
pub(crate) async fn make_directory(
    client: &Client,
    path: &str,
    acls: &Acls<'_>,
) -> Result<bool, ZkError> {
    let containers = CreateMode::Container.with_acls(*acls);
    let plain = CreateMode::Persistent.with_acls(*acls);
    let mut is_new = false;
    for directory in layout::ancestors(path) {
        let made = match client.create(directory, &[], &containers).await {
            Err(ZkError::Unimplemented) => client.create(directory, &[], &plain).await,
            made => made,
        };
        match made {
            Ok(_) => is_new = directory == path,
            Err(ZkError::NodeExists) => {}
            // Whoever made it for us gave us a part of the tree only.
            Err(ZkError::NoAuth) if directory != path => {}
            Err(error) => return Err(error),
        }
    }
    Ok(is_new)
}

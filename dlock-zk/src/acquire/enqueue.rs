//! A place in the queue: taken, found again, and given up.

use std::time::Duration;

use dlock_core::{
    Holder, Result,
    backend::{AcquireRequest, Wait},
};
use zookeeper_client::{Acls, Client, CreateMode, Error as ZkError};

use crate::config::ZkConfig;
use crate::errors;
use crate::keys as layout;
use crate::keys::Place;
use crate::queue::order as queue;
use crate::session;
use crate::session::Session;

/// How often the lock's directory is made when it vanishes in between: the servers remove containers
/// that are empty (T49).
const DIRECTORY_TRIES_MAX: u32 = 5;

/// Between two tries to find or delete a node.
const PAUSE: Duration = Duration::from_millis(100);

/// A node of ours in a lock's queue.
pub(crate) struct Queued {
    pub(crate) name: String,
    pub(crate) czxid: i64,
    /// What is known of the queue; taken by the first look.
    pub(crate) seen: Seen,
}

/// What is known of a queue in which our node is.
#[derive(Default)]
pub(crate) enum Seen {
    /// It must be looked at.
    #[default]
    Nothing,
    /// Our node is the first.
    First,
    /// The queue as it was just after our node was made.
    Queue(Vec<String>),
}

/// Enters the queue. Whoever waits goes on until it is in, also while the store cannot be asked (K6).
///
/// # Errors
///
/// No node is left, or it ends with the session.
pub(crate) async fn enter(
    session: &Session,
    config: &ZkConfig,
    place: &Place,
    request: &AcquireRequest,
) -> Result<Queued> {
    let queued = enter_anyhow(session, config, place, request).await?;
    if queue::is_counted(&queued.name) {
        return Ok(queued);
    }
    delete_surely(session, &place.path(&queued.name)).await;
    Err(queue::used_up(&place.dir))
}

async fn enter_anyhow(
    session: &Session,
    config: &ZkConfig,
    place: &Place,
    request: &AcquireRequest,
) -> Result<Queued> {
    let data = Holder::encode_without_token(request);
    let waits = request.wait == Wait::UntilCancelled;
    loop {
        let error = match make(session, acls(config), place, data.as_bytes()).await {
            Ok(queued) => return Ok(queued),
            Err(error) => error,
        };
        if session.is_over() {
            return Err(session::over());
        }
        if !errors::is_transient(&error) {
            return Err(errors::of_request(error));
        }
        let is_ambiguous = errors::is_ambiguous(&error);
        let error = errors::of_request(error);
        request.attempt.report_unavailable(&error);
        if is_ambiguous && let Some(found) = find_surely(session, place).await? {
            return Ok(found);
        }
        if request.attempt.is_cancelled() || !(is_ambiguous || waits) {
            return Err(error);
        }
        tracing::debug!(%error, "the lock's node is not made yet");
        tokio::select! {
            () = pause(session) => {}
            () = request.attempt.cancelled() => {}
        }
    }
}

/// Makes the node, in one round trip: the list is asked for together with it, unless the node's number will
/// say that it is alone. The directory is made when it is missing.
async fn make(
    session: &Session,
    acls: Acls<'static>,
    place: &Place,
    data: &[u8],
) -> Result<Queued, ZkError> {
    let options = CreateMode::EphemeralSequential.with_acls(acls);
    let stem = place.prefix();
    let client = session.client()?;
    let mut tries = 0;
    loop {
        let made = session.ask(|| {
            let writing = session.writing();
            let create = client.create(&stem, data, &options);
            let is_regular = session.known.is_regular(&place.dir);
            let looks = &session.looks;
            let client = &client;
            async move {
                if is_regular {
                    let (stat, sequence) = create.await?;
                    return Ok((writing, stat, sequence, None));
                }
                let list = looks.children(client, &place.dir);
                let (created, listed) = tokio::join!(create, list);
                created.map(|(stat, sequence)| (writing, stat, sequence, listed.ok()))
            }
        });
        match made.await {
            Ok((_, stat, _, _)) if !session.owns(stat.ephemeral_owner) => {
                session.end();
                return Err(ZkError::SessionExpired);
            }
            Ok((writing, stat, sequence, children)) => {
                session.acknowledged(writing);
                let seen = match children {
                    Some(children) => Seen::Queue(children),
                    None if session.known.is_first(&place.dir, sequence.into_i64()) => Seen::First,
                    None => Seen::Nothing,
                };
                return Ok(Queued {
                    name: format!("{}{sequence}", place.stem),
                    czxid: stat.czxid,
                    seen,
                });
            }
            Err(ZkError::NoNode) if tries < DIRECTORY_TRIES_MAX => {
                tries += 1;
                session
                    .ask(|| make_directory(&client, &place.dir, &acls))
                    .await?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// What became of a node whose creation was not answered (K9): asked until there is an answer, at most
/// as long as the session lives.
async fn find_surely(session: &Session, place: &Place) -> Result<Option<Queued>> {
    loop {
        match find(session, place).await {
            Ok(found) => return Ok(found),
            Err(_) if session.is_over() => return Err(session::over()),
            Err(error) if errors::is_transient(&error) => pause(session).await,
            Err(error) => return Err(errors::of_request(error)),
        }
    }
}

/// Looks for our node by its GUID. `sync` makes a server that is behind catch up: it could hide the node
/// (T42). One of an older session is about to go (T43).
async fn find(session: &Session, place: &Place) -> Result<Option<Queued>, ZkError> {
    let client = session.client()?;
    let both = || {
        let synced = client.sync(&place.dir);
        let listed = client.list_children(&place.dir);
        async { Ok(tokio::join!(synced, listed)) }
    };
    let (synced, listed) = session.ask(both).await?;
    synced?;
    let children = match listed {
        Err(ZkError::NoNode) => return Ok(None),
        children => children?,
    };
    for child in children
        .iter()
        .filter(|child| child.starts_with(&place.stem))
    {
        let path = place.path(child);
        let stat = session.ask(|| client.check_stat(&path)).await?;
        if let Some(stat) = stat.filter(|stat| session.owns(stat.ephemeral_owner)) {
            return Ok(Some(Queued {
                name: child.clone(),
                czxid: stat.czxid,
                seen: Seen::Queue(children),
            }));
        }
    }
    Ok(None)
}

/// Deletes a node of ours: tried until it is confirmed, or until the session is over and the node with
/// it.
pub(crate) async fn delete_surely(session: &Session, path: &str) {
    while let Ok(client) = session.client() {
        match session.ask(|| client.delete(path, None)).await {
            Ok(()) | Err(ZkError::NoNode) => return,
            Err(error) => tracing::debug!(%error, "a node is not deleted yet"),
        }
        drop(client);
        pause(session).await;
    }
}

/// A moment, and until there is a connection.
async fn pause(session: &Session) {
    tokio::time::sleep(PAUSE).await;
    session.reachable().await;
}

/// Makes a directory and those above it, which the servers remove when they have been empty for a while.
pub(crate) async fn make_directory(
    client: &Client,
    path: &str,
    acls: &Acls<'_>,
) -> Result<(), ZkError> {
    let containers = CreateMode::Container.with_acls(*acls);
    let plain = CreateMode::Persistent.with_acls(*acls);
    let mut parent_is_refused = false;
    for directory in layout::ancestors(path) {
        let made = match client.create(directory, &[], &containers).await {
            Err(ZkError::Unimplemented) => client.create(directory, &[], &plain).await,
            made => made,
        };
        parent_is_refused = match made {
            Ok(_) | Err(ZkError::NodeExists) => false,
            // Whoever made it for us gave us a part of the tree only.
            Err(ZkError::NoAuth) if directory != path => true,
            // Or nobody made it.
            Err(ZkError::NoNode) if parent_is_refused => return Err(ZkError::NoAuth),
            Err(error) => return Err(error),
        };
    }
    Ok(())
}

/// To whom our nodes belong.
pub(crate) fn acls(config: &ZkConfig) -> Acls<'static> {
    match config.login {
        Some(_) => Acls::creator_all(),
        None => Acls::anyone_all(),
    }
}

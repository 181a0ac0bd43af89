//! The wait for the node before ours.

use std::time::Duration;

use dlock_core::AcquireRequest;
use zookeeper_client::{Client, Error as ZkError, EventType};

use crate::{
    layout::Place,
    session::Session,
    take::Queued,
    watch::{Purpose, Silent as _, Watch},
};

/// Where there is no room for another watch, the queue is looked at as often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// One wait in a queue.
pub(crate) struct Turn<'a> {
    pub(crate) session: &'a Session,
    pub(crate) place: &'a Place,
    pub(crate) queued: &'a mut Queued,
    pub(crate) request: &'a AcquireRequest,
}

impl Turn<'_> {
    /// Waits until the node before ours is gone or was written to: nobody else is woken by that (T47). Whether ours
    /// is the first now; else the queue must be looked at.
    ///
    /// Only who waits for the first of the queue knows: nobody else can be before it, and its own node is still
    /// there. (If one transaction removes both, in this order, the lock is granted and lost at once.)
    pub(crate) async fn wait(self, before: &str, is_first: bool) -> Result<bool, ZkError> {
        let Self {
            session,
            place,
            queued,
            request,
        } = self;
        let client = session.client()?;
        let connection = session.state().connection;
        let (path, own_path) = (place.path(before), place.path(&queued.name));
        let Some(allowed) = session.watches.allow(&client, &path, Purpose::Wait) else {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = request.attempt.cancelled() => {}
            }
            return Ok(false);
        };
        let own = async {
            match is_first {
                true => own(session, &client, &own_path, queued.czxid).await,
                false => Ok(None),
            }
        };
        let other = client.get_and_watch_data(&path);
        let both = async { Ok(tokio::join!(own, other)) };
        let (own, other) = session.ask(both).await?;
        let own = match own {
            Err(ZkError::NoNode) => return Ok(false),
            own => own?,
        };
        let is_gone = match other {
            Err(ZkError::NoNode) => true,
            other => tokio::select! {
                (event, _) = allowed.watch(other?.2).event() => event == EventType::NodeDeleted,
                () = request.attempt.cancelled() => false,
                // The driver watches on over the next connection, but says nothing of this one's end.
                () = session.disturbed(connection) => return Err(ZkError::ConnectionLoss),
            },
        };
        queued.own = own.filter(|_| is_gone).and_then(Watch::silent);
        Ok(queued.own.is_some())
    }
}

/// Our own node, watched; `None` if there is no room for that.
///
/// # Errors
///
/// `NoNode` if it is gone.
async fn own(
    session: &Session,
    client: &Client,
    path: &str,
    czxid: i64,
) -> Result<Option<Watch>, ZkError> {
    let Some(allowed) = session.watches.allow(client, path, Purpose::Hold) else {
        return Ok(None);
    };
    let (stat, watcher) = client.check_and_watch_stat(path).await?;
    match stat {
        Some(stat) if stat.czxid == czxid => Ok(Some(allowed.watch(watcher))),
        _ => Err(ZkError::NoNode),
    }
}

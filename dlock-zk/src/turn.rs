//! The wait for the node before ours.

use dlock_core::AcquireRequest;
use zookeeper_client::{Error as ZkError, EventType};

use crate::{
    layout::Place,
    session::Session,
    take::Queued,
    watch::{Line, Watch},
};

/// One wait in a queue.
pub(crate) struct Turn<'a> {
    pub(crate) session: &'a Session,
    pub(crate) place: &'a Place,
    pub(crate) queued: &'a mut Queued,
    pub(crate) request: &'a AcquireRequest,
}

impl Turn<'_> {
    /// Waits until the node before ours is gone or was written to: nobody else is woken by that (T47).
    ///
    /// Who waits for the first of the queue is told that it is the next one, and that its own node is still
    /// there, without another look: it is true then. Else the queue must be looked at.
    pub(crate) async fn wait(self, before: &str, is_first: bool) -> Result<bool, ZkError> {
        let Self {
            session,
            place,
            queued,
            request,
        } = self;
        let client = session.client()?;
        let mut line = Line::new(client.state_watcher());
        let connection = session.state().connection;
        let (path, own_path) = (place.path(before), place.path(&queued.name));
        let own = is_first.then(|| client.check_and_watch_stat(&own_path));
        let other = client.get_and_watch_data(&path);
        let both = async {
            let own = async {
                match own {
                    Some(own) => own.await.map(Some),
                    None => Ok(None),
                }
            };
            Ok(tokio::join!(own, other))
        };
        let (own, other) = session.ask(both).await?;
        let own = match own? {
            Some((Some(stat), watcher)) if stat.czxid == queued.czxid => Some(Watch::new(watcher)),
            Some(_) => return Ok(false),
            None => None,
        };
        let gone = match other {
            Err(ZkError::NoNode) => true,
            other => tokio::select! {
                event = Watch::new(other?.2).event() => event == EventType::NodeDeleted,
                () = request.attempt.cancelled() => false,
                // The driver watches on over the next connection, but says nothing of this one's end.
                () = session.disturbed(connection) => return Err(ZkError::ConnectionLoss),
            },
        };
        // Over another connection what became of several nodes comes in any order.
        let is_next = gone && !line.has_changed();
        queued.own = own
            .filter(|_| is_next)
            .and_then(Watch::silent)
            .map(|own| (connection, own));
        Ok(queued.own.is_some())
    }
}

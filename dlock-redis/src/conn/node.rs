//! One server: requests to it, and its connection for pub/sub.

use std::{
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Effect, Result,
    toolkit::{Connected, Lock, SingleFlight},
};
use redis::RedisResult;

use crate::{
    config::Options,
    conn::{
        connect::Endpoint,
        connection::{Connection, Refusal},
        open::Opener,
        pubsub::PubSub,
        reconnect::Reconnect,
        request::{Reply, Request},
        resolve::Resolver,
        subscription::Subscribe,
    },
    errors,
};

/// The connections to one server.
pub(crate) struct Node {
    reconnect: Arc<Reconnect>,
    /// The connection for notifications of releases, once a waiter needs it. Subscriptions change one at a
    /// time, so that none is ended after another waiter has begun it.
    pub(crate) pubsub: SingleFlight<Option<PubSub>>,
    /// Changes that wait for their turn. Together they take one round trip.
    pub(crate) to_subscribe: Lock<Vec<Subscribe>>,
    pub(crate) to_unsubscribe: Lock<Vec<String>>,
    /// Whether the last pub/sub connection led to another server than the requests.
    is_ambiguous: AtomicBool,
}

impl Node {
    pub(crate) fn new(
        resolver: Resolver,
        options: Options,
        clustered: bool,
        highest_token: Arc<AtomicU64>,
    ) -> Self {
        let opener = Opener::new(resolver, options, clustered, highest_token);
        Self {
            reconnect: Arc::new(Reconnect::new(opener)),
            pubsub: SingleFlight::new(None),
            to_subscribe: Lock::default(),
            to_unsubscribe: Lock::default(),
            is_ambiguous: AtomicBool::new(false),
        }
    }

    /// Makes the connection if there is none.
    pub(crate) async fn connect(&self) -> Result<()> {
        self.reconnect.get().await.map(drop)
    }

    /// `InvalidConfig` if the server has locks of another layout. Writes nothing.
    pub(crate) async fn check_layout(&self) -> Result<()> {
        self.reconnect.opener.check_layout().await
    }

    /// Ends the connections.
    pub(crate) fn close(&self) {
        self.reconnect.close();
        // A task that is at work on it drops it.
        self.pubsub.try_update(|pubsub| *pubsub = None);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.reconnect.is_closed()
    }

    /// Whether requests on abandoned connections may still be executed.
    pub(crate) fn has_abandoned(&self) -> bool {
        !self.reconnect.opener.abandoned.is_empty()
    }

    /// Refuses a pub/sub connection to another server process than that of the requests: two servers may
    /// share an address. If the server was replaced just now, the next request detects it.
    pub(crate) fn check_same_run(&self, run_id: &str) -> Result<()> {
        let is_other = self.reconnect.is_to_other_run(run_id);
        self.is_ambiguous.store(is_other, Ordering::Release);
        match is_other {
            true => Err(errors::other_server()),
            false => Ok(()),
        }
    }

    /// Whether two servers may share its address: then it is not known which of them has a lock.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.is_ambiguous.load(Ordering::Acquire)
    }

    /// The generation of the connection for requests, if there is one.
    pub(crate) fn generation(&self) -> Option<u64> {
        self.reconnect.generation()
    }

    /// The present endpoint of the server.
    pub(crate) async fn resolve(&self) -> Result<Endpoint> {
        self.reconnect.opener.resolver.resolve().await
    }

    /// The host of a server with a fixed address.
    pub(crate) fn host(&self) -> &str {
        self.reconnect.opener.resolver.host()
    }

    /// Whether the server is a node of a Cluster.
    pub(crate) fn is_clustered(&self) -> bool {
        self.reconnect.opener.clustered
    }

    /// Sends a request, and retries once on a new connection if this one has ended: an idle connection does
    /// not report that. A request that is not repeatable is sent once. The effect is unknown if connections fail under the request.
    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Reply> {
        let connection = self.connection_for(request).await?;
        let sent = match request.hedge_after {
            None => self.send_on(connection, request).await,
            // Boxed here and below: the futures of requests stay small.
            Some(after) => {
                let after = after.min(self.reconnect.opener.hedge_after_max());
                Box::pin(self.send_hedged(connection, request, after)).await
            }
        };
        let error = match sent {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        let was_cut = errors::is_cut(&error);
        let may_retry = was_cut || errors::is_forgotten(&error);
        if !may_retry || !request.call.is_repeatable() {
            return Err(errors::of_request(error));
        }
        let retried = Box::pin(self.retry(request)).await;
        // The first request may have been executed, independent of the second one's effect.
        retried.map_err(|error| match was_cut {
            true => error.with_effect(Effect::Unknown),
            false => error,
        })
    }

    async fn retry(&self, request: &Request<'_>) -> Result<Reply> {
        let connection = self.connection_for(request).await?;
        let reply = self.send_on(connection, request).await;
        reply.map_err(errors::of_request)
    }

    /// The connection, if this request may be sent on it.
    async fn connection_for(&self, request: &Request<'_>) -> Result<Connected<Arc<Connection>>> {
        let connection = self.reconnect.get().await?;
        if !request.call.grants() {
            return Ok(connection);
        }
        match connection.check_grants(self.reconnect.opener.clock.now()) {
            Ok(()) => Ok(connection),
            Err(Refusal::Wait(error)) => Err(error),
            Err(Refusal::Reprobe(error)) => {
                self.reconnect.drop_connection(connection.generation());
                Err(error)
            }
        }
    }

    /// Sends a request, and after `hedge_after` sends it on a new connection, too: the first reply counts. A
    /// connection may hang while new ones work, or be just slow.
    async fn send_hedged(
        &self,
        connection: Connected<Arc<Connection>>,
        request: &Request<'_>,
        hedge_after: Duration,
    ) -> RedisResult<Reply> {
        let generation = connection.generation();
        let mut first = pin!(self.send_on(connection, request));
        if let Ok(reply) = tokio::time::timeout(hedge_after, &mut first).await {
            return reply;
        }
        Box::pin(self.hedge(first, generation, request)).await
    }

    /// Sends the request on a new connection, too, while `first` waits for its reply on that of this generation.
    async fn hedge(
        &self,
        mut first: Pin<&mut impl Future<Output = RedisResult<Reply>>>,
        generation: u64,
        request: &Request<'_>,
    ) -> RedisResult<Reply> {
        let answered = Arc::new(AtomicBool::new(false));
        let mut second = pin!(async {
            let connection = self.reconnect.replace(generation, answered.clone());
            self.send_on(connection.await.ok()?, request).await.ok()
        });
        tokio::select! {
            biased;
            reply = &mut first => match reply {
                // The new connection may have replaced it.
                Err(error) if errors::ends_connection(&error) => second.await.ok_or(error),
                reply => {
                    answered.store(true, Ordering::Release);
                    reply
                }
            },
            reply = &mut second => match reply {
                Some(reply) => Ok(reply),
                None => first.await,
            },
        }
    }

    async fn send_on(
        &self,
        connection: Connected<Arc<Connection>>,
        request: &Request<'_>,
    ) -> RedisResult<Reply> {
        let opener = &self.reconnect.opener;
        let value = connection
            .send(&request.call, request.scope, &opener.highest_token)
            .await;
        if value.as_ref().is_err_and(errors::ends_connection) {
            self.reconnect.drop_connection(connection.generation());
        }
        let is_silent = |error: &redis::RedisError| errors::is_cut(error) || error.is_timeout();
        if !value.as_ref().is_err_and(is_silent) {
            opener.last_contact.touch(opener.clock.now());
        }
        value.map(|value| Reply {
            value,
            connection,
            reconnect: self.reconnect.clone(),
        })
    }
}

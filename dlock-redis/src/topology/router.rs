//! Sends each request to the server that has its key.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{Effect, Error, ErrorKind, Result, Token};

use crate::{
    config::{Options, RedisConfig, Topology},
    conn::{
        connect::Connector,
        node::Node,
        request::{Reply, Request},
        resolve::{Resolver, SentinelResolver},
    },
    errors::{self, RedirectScope},
    keys::{self, slots::slot},
    scripts::Call,
    topology::cluster::Cluster,
};

/// The bound on redirections of a request: two where nodes disagree, and one for each step of a slot that
/// moves.
const REDIRECTS_MAX: usize = 5;

/// The servers that have the locks.
pub(crate) struct Router {
    pub(crate) options: Options,
    /// The token counter of all names, if one server has them.
    counter: String,
    /// The highest token that this client was given by any of them.
    highest_token: Arc<AtomicU64>,
    deployment: Deployment,
    closed: AtomicBool,
}

enum Deployment {
    Single(Arc<Node>),
    Cluster(Arc<Cluster>),
}

impl Router {
    /// Connects, and probes whether the servers may grant locks.
    pub(crate) async fn connect(config: RedisConfig) -> Result<Self> {
        let connector = Connector::for_servers(&config)?;
        let addresses = config.hosts.iter().map(|host| {
            let port = host.port.unwrap_or_else(|| config.topology.default_port());
            (host.name.clone(), port)
        });
        let options = config.options.clone();
        let highest_token = Arc::new(AtomicU64::new(0));
        let resolver = match config.topology {
            Topology::Server => {
                let mut endpoints = addresses.map(|address| connector.endpoint(&address));
                Resolver::Fixed(endpoints.next().ok_or_else(no_server)?)
            }
            Topology::Sentinel => {
                let sentinels = Connector::for_sentinels(&config)?;
                let endpoints = addresses.map(|address| sentinels.endpoint(&address));
                Resolver::Sentinels(SentinelResolver {
                    service: config.service.clone(),
                    sentinels: endpoints.collect(),
                    connector,
                })
            }
            Topology::Cluster => {
                let (seeds, highest) = (addresses.collect(), highest_token.clone());
                let cluster = Cluster::new(connector, seeds, options.clone(), highest);
                let deployment = Deployment::Cluster(Arc::new(cluster));
                return Self::to(deployment, options, highest_token).await;
            }
        };
        Self::connect_single(resolver, options, highest_token).await
    }

    async fn connect_single(
        resolver: Resolver,
        options: Options,
        highest_token: Arc<AtomicU64>,
    ) -> Result<Self> {
        let node = Node::new(resolver, options.clone(), false, highest_token.clone());
        Self::to(Deployment::Single(Arc::new(node)), options, highest_token).await
    }

    async fn to(
        deployment: Deployment,
        options: Options,
        highest_token: Arc<AtomicU64>,
    ) -> Result<Self> {
        match &deployment {
            Deployment::Single(node) => node.connect().await?,
            Deployment::Cluster(cluster) => cluster.connect().await?,
        }
        Ok(Self {
            counter: keys::counter(options.prefix(), None),
            options,
            highest_token,
            deployment,
            closed: AtomicBool::new(false),
        })
    }

    /// Sends a request to the node that has its key, and follows redirections. One without a reply for
    /// `hedge_after` is sent on a second connection, too. The effect is unknown if connections fail under it.
    pub(crate) async fn send(
        &self,
        call: Call<'_>,
        hedge_after: Option<Duration>,
    ) -> Result<Reply> {
        let request = Request {
            call,
            hedge_after,
            scope: RedirectScope::Slot,
        };
        let node = self.node_for(request.call.key()).await?;
        match &self.deployment {
            Deployment::Single(_) => node.send(&request).await,
            // Boxed: the futures of requests to a single server stay small.
            Deployment::Cluster(cluster) => {
                Box::pin(self.send_and_follow(request, node, cluster)).await
            }
        }
    }

    async fn send_and_follow(
        &self,
        mut request: Request<'_>,
        mut node: Arc<Node>,
        cluster: &Cluster,
    ) -> Result<Reply> {
        let mut effect = Effect::None;
        for _ in 0..=REDIRECTS_MAX {
            let error = match node.send(&request).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if error.effect() == Effect::Unknown {
                effect = Effect::Unknown;
            }
            let Some(redirect) = errors::redirect(&error) else {
                if error.kind() == ErrorKind::Unavailable {
                    cluster.invalidate();
                }
                return Err(error.with_effect(effect));
            };
            request.scope = redirect.scope;
            node = cluster.follow(redirect, &node);
        }
        let why = "the nodes of the Cluster disagree on the owner of the key";
        Err(Error::new(ErrorKind::Unavailable, why).with_effect(effect))
    }

    /// The server that has this key.
    pub(crate) async fn node_for(&self, key: &str) -> Result<Arc<Node>> {
        if self.is_closed() {
            return Err(Error::closed());
        }
        match &self.deployment {
            Deployment::Single(node) => Ok(node.clone()),
            Deployment::Cluster(cluster) => cluster.node_for(key).await,
        }
    }

    /// Whether one server has all keys: a command may have keys of several names.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.deployment, Deployment::Single(_))
    }

    /// The command that publishes a release: in a Cluster only to the subscribers of the key's slot.
    pub(crate) fn publish_command(&self) -> &'static str {
        if self.is_single() {
            "PUBLISH"
        } else {
            "SPUBLISH"
        }
    }

    /// The token counter of this key.
    pub(crate) fn counter_key(&self, key: &str) -> Cow<'_, str> {
        match self.is_single() {
            true => Cow::Borrowed(&self.counter),
            false => Cow::Owned(keys::counter(self.options.prefix(), Some(slot(key)))),
        }
    }

    /// Notes a token of a grant: later grants to this client are above it, even if a server's clock is not
    /// (K5).
    pub(crate) fn observe_token(&self, token: Token) {
        self.highest_token.fetch_max(token.get(), Ordering::AcqRel);
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        match &self.deployment {
            Deployment::Single(node) => node.close(),
            Deployment::Cluster(cluster) => cluster.close(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

fn no_server() -> Error {
    Error::new(ErrorKind::InvalidConfig, "a server is missing")
}

//! Which server has the keys of a name.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{Effect, Error, ErrorKind, Result, Token};
use redis::Cmd;

use crate::{
    cluster::Cluster,
    config::{RedisConfig, Topology},
    dial::{Dialer, Line},
    errors, layout,
    options::RedisOptions,
    place::{Place, Sentinels},
    session::{Answer, Request, Session},
    slots::slot,
    wire::Text,
};

/// How often a Cluster may send a request elsewhere: twice where nodes disagree, and once for each
/// step of a slot that moves.
const REDIRECTS_MAX: usize = 5;

/// The servers that keep the locks.
pub(crate) struct Servers {
    pub(crate) options: RedisOptions,
    /// The highest token that they gave us.
    highest: Arc<AtomicU64>,
    kind: Kind,
    closed: AtomicBool,
}

enum Kind {
    One(Arc<Session>),
    Cluster(Arc<Cluster>),
}

/// A script to be run where its keys are.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) script: &'static Text,
    /// One of its keys, which are all of one slot.
    pub(crate) key: &'a str,
    /// How many it has.
    pub(crate) keys: usize,
    /// Writes the keys, then the arguments.
    pub(crate) write: &'a (dyn Fn(&mut Cmd) + Sync),
}

impl Call<'_> {
    fn command(&self, in_full: bool) -> Cmd {
        let mut command = self.script.call(in_full, self.keys);
        (self.write)(&mut command);
        command
    }
}

impl Servers {
    /// Connects, and looks whether the servers may grant locks.
    pub(crate) async fn connect(config: RedisConfig) -> Result<Self> {
        let dialer = Dialer::of_servers(&config)?;
        let addresses = config.hosts.iter().map(|host| {
            let port = host.port.unwrap_or_else(|| config.topology.default_port());
            (host.name.clone(), port)
        });
        let options = config.options.clone();
        let highest = Arc::new(AtomicU64::new(0));
        let one = |place| {
            Kind::One(Arc::new(Session::new(
                place,
                options.clone(),
                false,
                highest.clone(),
            )))
        };
        let kind = match config.topology {
            Topology::Server => {
                let mut lines = addresses.map(|address| dialer.line(&address));
                let line = lines.next().unwrap_or_else(|| Err(no_server()));
                one(Place::Fixed(line?))
            }
            Topology::Sentinel => {
                let sentinels = Dialer::of_sentinels(&config)?;
                let lines = addresses.map(|address| sentinels.line(&address));
                one(Place::Sentinels(Sentinels {
                    service: config.service.clone(),
                    sentinels: lines.collect::<Result<_>>()?,
                    dialer,
                }))
            }
            Topology::Cluster => {
                let cluster = Cluster::new(
                    dialer,
                    addresses.collect(),
                    options.clone(),
                    highest.clone(),
                );
                Kind::Cluster(Arc::new(cluster))
            }
        };
        Self::of(kind, options, highest).await
    }

    /// Connects to the server of a client that the user has made.
    pub(crate) async fn connect_line(line: Line, options: RedisOptions) -> Result<Self> {
        let highest = Arc::new(AtomicU64::new(0));
        let place = Place::Fixed(line);
        let session = Session::new(place, options.clone(), false, highest.clone());
        Self::of(Kind::One(Arc::new(session)), options, highest).await
    }

    async fn of(kind: Kind, options: RedisOptions, highest: Arc<AtomicU64>) -> Result<Self> {
        match &kind {
            Kind::One(session) => session.connect().await?,
            Kind::Cluster(cluster) => cluster.connect().await?,
        }
        Ok(Self {
            options,
            highest,
            kind,
            closed: AtomicBool::new(false),
        })
    }

    /// The server that has this key.
    pub(crate) async fn owner(&self, key: &str) -> Result<Arc<Session>> {
        if self.is_closed() {
            return Err(Error::closed());
        }
        match &self.kind {
            Kind::One(session) => Ok(session.clone()),
            Kind::Cluster(cluster) => cluster.owner(key).await,
        }
    }

    /// Whether scripts may be run on keys of different names.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self.kind, Kind::One(_))
    }

    /// How a release is published: in a Cluster only to those who listen to the key's slot.
    pub(crate) fn publish(&self) -> &'static str {
        if self.is_one() { "PUBLISH" } else { "SPUBLISH" }
    }

    /// Runs a script that may be run twice, also at once over two connections if the first one does not
    /// answer within `patience`. The effect is unknown if connections fail under it.
    pub(crate) async fn run(&self, call: Call<'_>, patience: Duration) -> Result<Answer> {
        let request = Request {
            says: &|_, in_full| call.command(in_full),
            grants: false,
            patience: Some(patience),
            asking: false,
        };
        self.ask(call.key, request).await
    }

    /// As [`run`](Self::run), for the script that grants: after its own arguments come those by which the
    /// server knows whether it remembers what it granted, and the least token.
    pub(crate) async fn run_granting(&self, call: Call<'_>) -> Result<Answer> {
        let begins = u8::from(!self.is_one());
        let request = Request {
            says: &|link, in_full| {
                let mut command = call.command(in_full);
                if let Some(history) = link.history() {
                    command.arg(&history.places).arg(&history.text);
                } else {
                    command.arg("");
                }
                // Above all that any of the servers gave this client: a clock may be behind (K5).
                let least = self.highest.load(Ordering::Acquire) + 1;
                command.arg(begins).arg(least);
                command
            },
            grants: true,
            patience: None,
            asking: false,
        };
        self.ask(call.key, request).await
    }

    /// The counter of the tokens of this key.
    pub(crate) fn counter(&self, key: &str) -> String {
        let slot = (!self.is_one()).then(|| slot(key));
        layout::counter(&self.options.prefix, slot)
    }

    /// Runs a command that changes nothing.
    pub(crate) async fn look(&self, key: &str, command: &Cmd) -> Result<Answer> {
        let request = Request {
            says: &|_, _| command.clone(),
            grants: false,
            patience: None,
            asking: false,
        };
        self.ask(key, request).await
    }

    async fn ask(&self, key: &str, mut request: Request<'_>) -> Result<Answer> {
        let mut session = self.owner(key).await?;
        let Kind::Cluster(cluster) = &self.kind else {
            return session.ask(request).await;
        };
        let mut effect = Effect::None;
        for _ in 0..=REDIRECTS_MAX {
            let error = match session.ask(request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.effect() == Effect::Unknown {
                effect = Effect::Unknown;
            }
            let Some(redirect) = errors::redirect(&error) else {
                if error.kind() == ErrorKind::Unavailable {
                    cluster.doubt();
                }
                return Err(error.with_effect(effect));
            };
            request.asking = redirect.once;
            session = cluster.follow(redirect, &session)?;
        }
        let why = "the nodes of the Cluster disagree on who has the key";
        Err(Error::new(ErrorKind::Unavailable, why).with_effect(effect))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// A token that they gave: no later one of this client is below it, whatever a server's clock says.
    pub(crate) fn gave(&self, token: Token) {
        self.highest.fetch_max(token.get(), Ordering::AcqRel);
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        match &self.kind {
            Kind::One(session) => session.close(),
            Kind::Cluster(cluster) => cluster.close(),
        }
    }
}

fn no_server() -> Error {
    Error::new(ErrorKind::InvalidConfig, "a server is missing")
}

//! One connection that hears of releases.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::Result;
use redis::{PushInfo, PushKind, Value, aio::MultiplexedConnection};
use tokio::{sync::Notify, task::JoinSet};

use crate::{
    conn::connect::Line, conn::liveness, conn::probe, errors, pubsub::subscriptions::Listeners,
};

/// A pub/sub connection to one server. A message is a hint and may be lost with its connection.
pub(crate) struct Ear {
    connection: MultiplexedConnection,
    /// Channels belong to the slot of their name.
    sharded: bool,
    has_tls: bool,
    hearing: Hearing,
    /// The task that feels its pulse, which ends with it.
    _pulse: JoinSet<()>,
}

/// What a listener knows of the connection that it has subscribed on.
#[derive(Clone)]
pub(crate) struct Hearing {
    state: Arc<State>,
    /// Of the connection for requests beside it. When that one is made again, so is this one: the
    /// server may be another one now, and nothing tells of a connection that is half-open.
    serial: Option<u64>,
}

#[derive(Default)]
struct State {
    /// It is not used any more.
    over: AtomicBool,
    /// Its pulse is late.
    late: AtomicBool,
    /// Somebody waits for what is heard.
    wanted: Notify,
}

impl Ear {
    /// Connects; what is heard wakes the listeners. Its pulse is felt while somebody `waits`.
    pub(crate) async fn open(
        line: &Line,
        sharded: bool,
        serial: Option<u64>,
        listeners: Listeners,
        waits: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Self> {
        let state = Arc::new(State::default());
        let hearing = Hearing {
            state: state.clone(),
            serial,
        };
        let waking = listeners.clone();
        let connection = line.connect_hearing(move |push| hear(&waking, &state.over, &push));
        let connection = connection.await?;
        let mut pulse = JoinSet::new();
        pulse.spawn(liveness::run(
            connection.clone(),
            hearing.clone(),
            listeners,
            waits,
        ));
        Ok(Self {
            connection,
            sharded,
            has_tls: line.has_tls(),
            hearing,
            _pulse: pulse,
        })
    }

    pub(crate) fn hearing(&self) -> &Hearing {
        &self.hearing
    }

    /// Confirmed when it returns.
    pub(crate) async fn subscribe(&mut self, channel: &str) -> Result<()> {
        self.tell(["SUBSCRIBE", "SSUBSCRIBE"], channel).await
    }

    /// Confirmed when it returns.
    pub(crate) async fn unsubscribe(&mut self, channel: &str) -> Result<()> {
        self.tell(["UNSUBSCRIBE", "SUNSUBSCRIBE"], channel).await
    }

    /// Which process of a server it leads to.
    pub(crate) async fn run(&mut self) -> Result<String> {
        probe::run_of(&mut self.connection, self.has_tls).await
    }

    async fn tell(&mut self, [plain, sharded]: [&str; 2], channel: &str) -> Result<()> {
        let verb = if self.sharded { sharded } else { plain };
        let told = redis::cmd(verb)
            .arg(channel)
            .exec_async(&mut self.connection)
            .await;
        told.map_err(|error| errors::of_connect(error, self.has_tls))
    }
}

impl Hearing {
    /// Whether releases are heard of beside the connection for requests of this number.
    pub(crate) fn is_on(&self, serial: Option<u64>) -> bool {
        self.serial == serial && !self.state.over.load(Ordering::Acquire)
    }

    /// The connection is not used any more.
    pub(crate) fn end(&self) {
        self.state.over.store(true, Ordering::Release);
    }

    /// Whether the connection may be deaf.
    pub(crate) fn is_late(&self) -> bool {
        self.state.late.load(Ordering::Acquire)
    }

    pub(crate) fn be_late(&self, late: bool) {
        self.state.late.store(late, Ordering::Release);
    }

    /// Somebody waits for what is heard.
    pub(crate) fn want(&self) {
        self.state.wanted.notify_one();
    }

    /// Ends after somebody [wanted](Self::want) it, perhaps before the call.
    pub(crate) async fn until_wanted(&self) {
        self.state.wanted.notified().await;
    }
}

fn hear(listeners: &Listeners, over: &AtomicBool, push: &PushInfo) {
    let channel = match push.data.first() {
        Some(Value::BulkString(channel)) => String::from_utf8_lossy(channel),
        _ => "".into(),
    };
    match push.kind {
        PushKind::Message | PushKind::SMessage => listeners.wake(&channel),
        PushKind::Disconnection => {
            over.store(true, Ordering::Release);
            listeners.wake_all();
        }
        // Not asked for: the slot has moved to another node. Those who listen look there.
        PushKind::SUnsubscribe if listeners.has(&channel) => {
            over.store(true, Ordering::Release);
            listeners.wake_all();
        }
        _ => {}
    }
}

//! The floor of dlock's own commands on Redis: its scripts and its batches by the driver alone. It holds no lock for longer
//! than a cycle: nothing renews it, and no one can wait for it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use dlock_core::{Clock, Error, ErrorKind, backend::SentAt, toolkit::Batcher};
use redis::{Client as Driver, Cmd, RedisError, Script, Value, aio::MultiplexedConnection, cmd};

use super::client::{Client, Lock, not_held, without_keys};
use crate::failure::Failure;

const ACQUIRE: &str = concat!(
    include_str!("../../../dlock-redis/src/scripts/strings.lua"),
    include_str!("../../../dlock-redis/src/scripts/promotion.lua"),
    include_str!("../../../dlock-redis/src/scripts/acquire.lua")
);
const RELEASE: &str = concat!(
    include_str!("../../../dlock-redis/src/scripts/strings.lua"),
    include_str!("../../../dlock-redis/src/scripts/release.lua")
);

/// The keys of dlock's that are no locks.
const COUNTER: &str = "dlock:{all}fence";
const RECORD: &str = "dlock:{all}record";

/// dlock's bound on a batch.
const SIZE_MAX: usize = 100;

const TTL_MS: u32 = 30_000;

/// The rest of a holder's line: since when, and its process.
const HOLDER: &str = "1780000000000000 4711@floor";

pub(super) struct Floor(Arc<Batcher<Part, String>>);

struct Held {
    batcher: Arc<Batcher<Part, String>>,
    name: String,
    value: Option<String>,
}

/// A part of a batch, of which the reply is the value of the lock.
enum Part {
    /// The key and the attempt.
    Acquire(String, String),
    /// The key and the value.
    Release(String, String),
}

/// A connection, and what dlock knows of the server.
#[derive(Clone)]
struct Server {
    connection: MultiplexedConnection,
    acquire: Arc<Script>,
    release: Arc<Script>,
    record: Arc<str>,
    deletes_if_equal: bool,
    token: Arc<AtomicU64>,
}

impl Floor {
    /// Connects to a server that dlock has used.
    pub(super) async fn connect(url: &str) -> Result<Self, Failure> {
        let driver = Driver::open(without_keys(url))?;
        let mut connection = driver.get_multiplexed_async_connection().await?;
        let (acquire, release) = (Script::new(ACQUIRE), Script::new(RELEASE));
        for script in [&acquire, &release] {
            script.load_async(&mut connection).await?;
        }
        let mut known = cmd("COMMAND");
        known.arg("INFO").arg("DELIFEQ");
        let known: Vec<Value> = known.query_async(&mut connection).await?;
        let record: String = cmd("GET").arg(RECORD).query_async(&mut connection).await?;
        let server = Server {
            connection,
            acquire: Arc::new(acquire),
            release: Arc::new(release),
            record: record.into(),
            deletes_if_equal: !matches!(known[..], [Value::Nil]),
            token: Arc::default(),
        };
        let clock = Clock::boottime();
        let batcher = Batcher::eager(SIZE_MAX, move |parts| {
            let (server, sent) = (server.clone(), SentAt::now(&clock));
            Box::pin(async move { Ok((sent, server.send(&parts).await?)) })
        });
        Ok(Self(Arc::new(batcher)))
    }
}

impl Server {
    /// Sends a batch as two commands, and gives the value of each lock.
    async fn send(&self, parts: &[Part]) -> Result<Vec<String>, Error> {
        let (mut acquires, mut releases) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Acquire(key, attempt) => acquires.push((key, attempt)),
                Part::Release(key, value) => releases.push((key, value)),
            }
        }
        let (token, ()) = tokio::try_join!(self.acquire(&acquires), self.release(&releases))?;
        let values = parts.iter().map(|part| match part {
            Part::Acquire(_, attempt) => format!("{attempt} {token} {HOLDER}"),
            Part::Release(..) => String::new(),
        });
        Ok(values.collect())
    }

    async fn acquire(&self, locks: &[(&String, &String)]) -> Result<u64, Error> {
        if locks.is_empty() {
            return Ok(0);
        }
        let mut command = cmd("EVALSHA");
        command.arg(self.acquire.get_hash()).arg(1 + locks.len());
        command.arg(COUNTER);
        for (key, _) in locks {
            command.arg(key);
        }
        let least = self.token.load(Ordering::Relaxed) + 1;
        command.arg(&*self.record).arg(0).arg(least);
        // The attempts would wait.
        command.arg("1".repeat(locks.len()));
        for (_, attempt) in locks {
            command.arg(format!("{attempt} {HOLDER}")).arg(TTL_MS);
        }
        command.arg(RECORD);
        let token = self.number(&command).await?;
        self.token.fetch_max(token, Ordering::Relaxed);
        Ok(token)
    }

    async fn release(&self, locks: &[(&String, &String)]) -> Result<(), Error> {
        let mut command = Cmd::new();
        match locks {
            [] => return Ok(()),
            [(key, value)] if self.deletes_if_equal => {
                command.arg("DELIFEQ").arg(key).arg(value);
            }
            _ => {
                let (keys, values): (Vec<_>, Vec<_>) = locks.iter().copied().unzip();
                command.arg("EVALSHA").arg(self.release.get_hash());
                command.arg(keys.len()).arg(keys).arg(values);
                command.arg("PUBLISH");
            }
        }
        let released = self.number(&command).await?;
        match usize::try_from(released) {
            Ok(released) if released == locks.len() => Ok(()),
            _ => Err(Error::new(ErrorKind::Internal, "a lock was not held")),
        }
    }

    async fn number(&self, command: &Cmd) -> Result<u64, Error> {
        let answer = command.query_async(&mut self.connection.clone()).await;
        answer.map_err(|error: RedisError| {
            Error::new(ErrorKind::Unavailable, "the driver failed").with_source(error)
        })
    }
}

#[async_trait]
impl Client for Floor {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Held {
            batcher: self.0.clone(),
            name: name.to_owned(),
            value: None,
        }))
    }
}

#[async_trait]
impl Lock for Held {
    async fn acquire(&mut self) -> Result<(), Failure> {
        let attempt = format!("{:032x}", rand::random::<u128>());
        let part = Part::Acquire(format!("dlock:{}", self.name), attempt);
        self.value = Some(self.batcher.join(part).await?.1);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        let value = self.value.take().ok_or_else(not_held)?;
        let part = Part::Release(format!("dlock:{}", self.name), value);
        self.batcher.join(part).await?;
        Ok(())
    }

    fn rename(&mut self, name: String) {
        self.name = name;
    }
}

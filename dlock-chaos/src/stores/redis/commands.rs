//! Faults of Redis that are commands of an administrator.

use std::{io, sync::Arc};

use async_trait::async_trait;
use dlock_servers::redis::{Node, Reply};
use dlock_verify::{
    chaos::{Evidence, Fault, Site},
    support::Outcome,
};
use tokio::sync::Mutex;

/// How many keys `BGSAVE` has to write, so that it takes a while.
const KEYS: &str = "200000";

pub(in crate::stores) fn all(node: &Arc<Mutex<Node>>) -> Vec<Arc<dyn Fault>> {
    use What::{Bgsave, DebugSleep, FlushAll, KillClients, KillSubscribers, ScriptFlush};
    let all = [
        ScriptFlush,
        KillClients,
        KillSubscribers,
        DebugSleep,
        Bgsave,
        FlushAll,
    ];
    let command = |what| {
        Arc::new(Command {
            what,
            node: node.clone(),
        }) as _
    };
    all.into_iter().map(command).collect()
}

/// A command of an administrator.
struct Command {
    what: What,
    node: Arc<Mutex<Node>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The server forgets its scripts.
    ScriptFlush,
    KillClients,
    KillSubscribers,
    /// The server does nothing for the length.
    DebugSleep,
    /// The server forks, and a child writes all data.
    Bgsave,
    /// All data are removed. dlock grants nothing for a guard then, so an exception covers only tokens, and only behind
    /// a clock that was set back.
    FlushAll,
}

#[async_trait]
impl Fault for Command {
    fn id(&self) -> &'static str {
        match self.what {
            What::ScriptFlush => "script-flush",
            What::KillClients => "client-kill",
            What::KillSubscribers => "client-kill-pubsub",
            What::DebugSleep => "debug-sleep",
            What::Bgsave => "bgsave",
            What::FlushAll => "flushall",
        }
    }

    fn lengths(&self) -> &'static [u32] {
        match self.what {
            What::DebugSleep => &[9, 5, 2],
            _ => &[11, 2, 9],
        }
    }

    fn evidence(&self) -> Evidence {
        match self.what {
            What::ScriptFlush | What::KillClients | What::KillSubscribers | What::Bgsave => {
                Evidence::Own
            }
            What::DebugSleep | What::FlushAll => Evidence::Clients,
        }
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        // Another fault may have the server down: then this one does not bite.
        Ok(self.try_strike(site).await.unwrap_or_default())
    }
}

impl Command {
    async fn try_strike(&self, site: &Site) -> io::Result<u64> {
        match self.what {
            What::ScriptFlush => {
                let before = self.scripts_missed().await?;
                self.command(&["SCRIPT", "FLUSH"]).await?;
                site.last().await;
                Ok(self.scripts_missed().await?.saturating_sub(before))
            }
            What::KillClients => count(self.command(&["CLIENT", "KILL", "TYPE", "normal"]).await?),
            What::KillSubscribers => {
                count(self.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await?)
            }
            What::DebugSleep => {
                let seconds = site.length.as_secs_f64().to_string();
                self.command(&["DEBUG", "SLEEP", &seconds]).await?;
                Ok(0)
            }
            What::Bgsave => {
                self.command(&["DEBUG", "POPULATE", KEYS, "bgsave"]).await?;
                self.command(&["BGSAVE"]).await?;
                site.last().await;
                let saved = self
                    .node
                    .lock()
                    .await
                    .info("rdb_last_bgsave_status")
                    .await?;
                self.remove_population().await?;
                Ok(u64::from(saved == "ok"))
            }
            What::FlushAll => {
                self.command(&["FLUSHALL"]).await?;
                site.last().await;
                Ok(0)
            }
        }
    }

    async fn command(&self, words: &[&str]) -> io::Result<Reply> {
        self.node.lock().await.command(words).await
    }

    /// How often the server lacked a script so far.
    async fn scripts_missed(&self) -> io::Result<u64> {
        let errors = self.command(&["INFO", "errorstats"]).await?.text()?;
        let line = errors
            .lines()
            .find(|line| line.starts_with("errorstat_NOSCRIPT:"));
        let count = line.and_then(|line| line.rsplit_once('='));
        Ok(count
            .and_then(|(_, count)| count.parse().ok())
            .unwrap_or_default())
    }

    async fn remove_population(&self) -> io::Result<()> {
        let script = "for n = 0, tonumber(ARGV[1]) - 1 do redis.call('UNLINK', 'bgsave:' .. n) end";
        self.command(&["EVAL", script, "0", KEYS]).await.map(drop)
    }
}

/// The clients that the server has disconnected.
fn count(reply: Reply) -> io::Result<u64> {
    Ok(u64::try_from(reply.int()?).unwrap_or_default())
}

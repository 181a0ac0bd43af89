//! The clients: what each one guarantees, how it is set up here, and its program.

use std::{collections::BTreeSet, env, ffi::OsString, path::PathBuf};

use dlock_servers::{clients::installed, zk::Java};
use serde::Serialize;

use crate::{
    names::{DLOCK, FLOOR, RAW, VERB},
    store::Family,
};

/// A client of a store.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) language: &'static str,
    /// Whether a grant has a fencing token.
    pub(crate) token: &'static str,
    /// How a lock outlives its ttl.
    pub(crate) renewal: &'static str,
    /// How a waiter learns of a release.
    pub(crate) wake_up: &'static str,
    /// The settings of this measurement.
    pub(crate) settings: &'static str,
    #[serde(skip)]
    pub(crate) waits: bool,
    #[serde(skip)]
    program: Program,
}

/// A command that the server executes once for each try, and as often as this for a client that connects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    pub(crate) command: &'static str,
    pub(crate) by_connect: u64,
}

#[derive(Clone, Copy, Debug)]
enum Program {
    /// This program.
    Rust,
    /// A file in `clients/python`.
    Python(&'static str),
    /// A file in `clients/node`.
    Node(&'static str),
    /// An argument of the program of `clients/go`.
    Go(&'static str),
    /// A class of `clients/java`, with jars from Maven in a folder of this name.
    Java(&'static str, &'static str),
    /// A class of `clients/java`, with the distribution's jars of Curator.
    Curator(&'static str),
}

const NONE: &str = "no";

const REDIS: &[Client] = &[
    dlock("each release is published"),
    raw("`SET NX PX` and `DEL` by redis-rs"),
    Client {
        name: FLOOR,
        ..raw("dlock's scripts and batches by redis-rs")
    },
    Client {
        name: "rslock",
        language: "Rust",
        token: NONE,
        renewal: "by `using` only",
        wake_up: "polls: 3 tries, 0–200 ms apart",
        settings: "defaults; `acquire`, ttl 30 s",
        waits: true,
        program: Program::Rust,
    },
    Client {
        name: "redsync",
        language: "Go",
        token: NONE,
        renewal: "by hand",
        wake_up: "polls every 50–250 ms, 32 times",
        settings: "defaults",
        waits: true,
        program: Program::Go("redsync"),
    },
    Client {
        name: "node-redlock",
        language: "JavaScript",
        token: NONE,
        renewal: "by `using` only",
        wake_up: "polls every 100–300 ms",
        settings: "defaults, retries without end; ttl 30 s",
        waits: true,
        program: Program::Node("node_redlock.cjs"),
    },
    Client {
        name: "redis-py",
        language: "Python",
        token: NONE,
        renewal: "by hand",
        wake_up: "polls every 100 ms",
        settings: "defaults; threads, ttl 30 s",
        waits: true,
        program: Program::Python("redis_py.py"),
    },
    Client {
        name: "Redisson",
        language: "Java",
        token: "only `RFencedLock`",
        renewal: "yes",
        wake_up: "each release is published",
        settings: "`getLock`, defaults; small pools with 16 clients",
        waits: true,
        program: Program::Java("RedissonPeer", "redisson"),
    },
];

const ETCD: &[Client] = &[
    dlock("watch"),
    raw("put with a lease, and delete, by etcd-client"),
    Client {
        name: "Lock RPC",
        language: "Rust",
        token: "the key's revision, by another read",
        renewal: "by hand",
        wake_up: "the server waits",
        settings: "etcd-client; a lease a client",
        waits: true,
        program: Program::Rust,
    },
    Client {
        name: "concurrency",
        language: "Go",
        token: "the key's revision",
        renewal: "yes",
        wake_up: "watch",
        settings: "a session a client, defaults",
        waits: true,
        program: Program::Go("concurrency"),
    },
    Client {
        name: "jetcd",
        language: "Java",
        token: "the key's revision, by another read",
        renewal: "yes",
        wake_up: "the server waits",
        settings: "the Lock RPC; a lease a client",
        waits: true,
        program: Program::Java("JetcdPeer", "jetcd"),
    },
];

const ZK: &[Client] = &[
    dlock("watch of the node before"),
    raw("create and delete of a node by zookeeper-client"),
    Client {
        name: "Curator",
        language: "Java",
        token: NONE,
        renewal: "by the session",
        wake_up: "watch of the node before",
        settings: "`InterProcessMutex`, defaults",
        waits: true,
        program: Program::Curator("CuratorPeer"),
    },
    Client {
        name: "kazoo",
        language: "Python",
        token: NONE,
        renewal: "by the session",
        wake_up: "watch of the node before",
        settings: "`Lock`, defaults; threads",
        waits: true,
        program: Program::Python("kazoo_lock.py"),
    },
    Client {
        name: "go-zookeeper",
        language: "Go",
        token: NONE,
        renewal: "by the session",
        wake_up: "watch of the node before",
        settings: "`NewLock`, session 30 s",
        waits: true,
        program: Program::Go("go-zookeeper"),
    },
];

const MYSQL: &[Client] = &[
    dlock("the server's own queue"),
    Client {
        name: RAW,
        language: "Rust",
        token: NONE,
        renewal: "no ttl: ends with its connection",
        wake_up: "the server's own queue",
        settings: "the bare row lock: `FOR UPDATE`, `COMMIT` by sqlx",
        waits: true,
        program: Program::Rust,
    },
    Client {
        name: "GET_LOCK",
        language: "Rust",
        token: NONE,
        renewal: "no ttl: ends with its connection",
        wake_up: "the server's own queue",
        settings: "by sqlx; a connection a lock",
        waits: true,
        program: Program::Rust,
    },
    Client {
        name: "ShedLock",
        language: "Java",
        token: NONE,
        renewal: "by `KeepAliveLockProvider` only",
        wake_up: "never waits",
        settings: "JDBC provider, HikariCP with 64 connections",
        waits: false,
        program: Program::Java("ShedLockPeer", "shedlock"),
    },
];

const fn dlock(wake_up: &'static str) -> Client {
    Client {
        name: DLOCK,
        language: "Rust",
        token: "yes",
        renewal: "yes",
        wake_up,
        settings: "defaults",
        waits: true,
        program: Program::Rust,
    }
}

const fn raw(settings: &'static str) -> Client {
    Client {
        name: RAW,
        language: "Rust",
        token: NONE,
        renewal: NONE,
        wake_up: "none: not a lock",
        settings,
        waits: false,
        program: Program::Rust,
    }
}

/// The clients of a family, dlock first.
pub(crate) fn of(family: Family) -> &'static [Client] {
    match family {
        Family::Redis => REDIS,
        Family::Etcd => ETCD,
        Family::Zk => ZK,
        Family::MySql => MYSQL,
    }
}

/// The names of all clients.
pub(crate) fn names() -> BTreeSet<&'static str> {
    let all = [REDIS, ETCD, ZK, MYSQL].into_iter().flatten();
    all.map(|client| client.name).collect()
}

impl Client {
    /// How its tries to acquire are counted; `None` if that is not known.
    pub(crate) fn tries(&self) -> Option<Tries> {
        let (command, by_connect) = match self.name {
            // Of its scripts.
            DLOCK => ("time", 1),
            "rslock" => ("set", 0),
            _ => return None,
        };
        Some(Tries {
            command,
            by_connect,
        })
    }

    /// Whether its program is this one, which has all workloads.
    pub(crate) fn is_rust(&self) -> bool {
        matches!(self.program, Program::Rust)
    }

    /// The words of its command line, for the server at `address`; a client in Rust takes dlock's `url`.
    ///
    /// # Errors
    ///
    /// What is not installed, in a line.
    pub(crate) fn words(&self, address: &str, url: &str) -> Result<Vec<OsString>, String> {
        let mut words: Vec<OsString> = match self.program {
            Program::Rust => {
                let own = env::current_exe().map_err(|error| error.to_string())?;
                return Ok(vec![own.into(), VERB.into(), self.name.into(), url.into()]);
            }
            Program::Python(file) => {
                // -B: no compiled module is left beside the sources.
                let python = installed("python/bin/python")?;
                vec![python.into(), "-B".into(), source("python", file).into()]
            }
            Program::Node(file) => {
                let mut path = OsString::from("NODE_PATH=");
                path.push(installed("node/node_modules")?);
                let program = source("node", file).into();
                vec!["env".into(), path, "node".into(), program]
            }
            Program::Go(name) => vec![installed("go/peers")?.into(), name.into()],
            Program::Java(class, folder) => {
                let classes = installed(&format!("java/{folder}"))?;
                let classes = classes.display();
                java(class, &format!("{classes}/classes:{classes}/lib/*"))
            }
            Program::Curator(class) => {
                let jars = Java::with_curator()?;
                let classes = installed("java/curator/classes")?;
                java(
                    class,
                    &format!("{}:{}", classes.display(), jars.class_path()),
                )
            }
        };
        words.push(address.into());
        Ok(words)
    }
}

/// Java's words. The heap has room for 64 threads, and no more than a client needs.
fn java(class: &str, class_path: &str) -> Vec<OsString> {
    let words = ["java", "-Xmx512m", "-cp", class_path, class];
    words.map(Into::into).into()
}

/// A program of this crate.
fn source(language: &str, file: &str) -> PathBuf {
    let clients = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/clients"));
    clients.join(language).join(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dlock_is_first_and_names_are_unique() {
        for family in [Family::Redis, Family::Etcd, Family::Zk, Family::MySql] {
            let mut names: Vec<_> = of(family).iter().map(|client| client.name).collect();
            assert_eq!(names[..2], [DLOCK, RAW]);
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}

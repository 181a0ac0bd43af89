//! The servers, and what locks and drivers have in them.

use std::process::Stdio;

use dlock_verify::support::Outcome;
use pty_process::Pty;
use tokio::process::{Child, Command};

/// A server of one kind.
pub(crate) trait Server: Sized {
    const NAME: &'static str;

    /// Why there is none on this machine.
    fn find() -> Result<(), String>;

    async fn start() -> Outcome<Self>;

    fn url(&self) -> String;

    /// All that locks, drivers and sessions have in the store; dlock's own records are documented and stay.
    async fn entries(&self) -> Outcome<Vec<String>>;

    /// Whether an entry is no lock and ends by itself.
    fn ends_by_itself(_entry: &str) -> bool {
        false
    }
}

/// `dlock bench ARGS…`, which finds no configuration of the user.
pub(crate) fn bench(args: &[&str]) -> Outcome<Child> {
    Ok(command(args).stderr(Stdio::piped()).spawn()?)
}

/// As [`bench`], with the progress on a terminal.
pub(crate) fn bench_on_terminal(args: &[&str]) -> Outcome<(Child, Pty)> {
    let (screen, terminal) = pty_process::open()?;
    let mut command = command(args);
    // Without a kind of terminal there is no progress.
    command.env("TERM", "xterm");
    let running = pty_process::Command::from(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn(terminal)?;
    Ok((running, screen))
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock"));
    command
        .arg("bench")
        .args(args)
        .env_remove("DLOCK_URL")
        .env_remove("DLOCK_CONFIG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

pub(crate) use self::etcd::Etcd;
pub(crate) use self::mysql::MySql;
pub(crate) use self::redis::Redis;
pub(crate) use self::zk::Zk;

mod redis {
    use dlock_servers::redis::{Flavour, Node, Options};
    use dlock_verify::support::Outcome;

    use super::Server;

    pub(crate) struct Redis(Node);

    impl Server for Redis {
        const NAME: &'static str = "redis";

        fn find() -> Result<(), String> {
            Flavour::RedisStable.find().map(drop)
        }

        async fn start() -> Outcome<Self> {
            let program = Flavour::RedisStable.find()?;
            Ok(Self(Node::start(&program, &Options::default()).await?))
        }

        fn url(&self) -> String {
            format!("redis://{}?restart_guard=0s", self.0.address())
        }

        async fn entries(&self) -> Outcome<Vec<String>> {
            let mut entries = Vec::new();
            for key in self.0.command(&["KEYS", "*"]).await?.array()? {
                entries.push(key.text()?);
            }
            // dlock's own keys.
            entries.retain(|key| !key.contains('{'));
            Ok(entries)
        }
    }
}

mod etcd {
    use dlock_servers::etcd::{Flavour, Node, Options};
    use dlock_verify::support::Outcome;

    use super::Server;

    pub(crate) struct Etcd(Node);

    impl Server for Etcd {
        const NAME: &'static str = "etcd";

        fn find() -> Result<(), String> {
            Flavour::Newest.find().map(drop)
        }

        async fn start() -> Outcome<Self> {
            let program = Flavour::Newest.find()?;
            Ok(Self(Node::start(&program, &Options::default()).await?))
        }

        fn url(&self) -> String {
            format!("etcd://{}", self.0.address())
        }

        async fn entries(&self) -> Outcome<Vec<String>> {
            let keys = self.0.keys("dlock/").await?;
            // The version of the layout has no lease.
            let keys = keys.into_iter().filter(|entry| entry.lease != 0);
            let leases = self.0.leases().await?;
            let leases = leases.iter().map(|lease| format!("lease {lease:x}"));
            Ok(keys.map(|entry| entry.key).chain(leases).collect())
        }

        /// The lease of a process that was killed, without a key.
        fn ends_by_itself(entry: &str) -> bool {
            entry.starts_with("lease ")
        }
    }
}

mod zk {
    use dlock_servers::zk::{Flavour, Node, Options};
    use dlock_verify::support::Outcome;

    use super::Server;

    /// The nodes of an empty server, and those that dlock's records are in.
    const NODES_MAX: u32 = 8;

    pub(crate) struct Zk(Node);

    impl Server for Zk {
        const NAME: &'static str = "zk";

        fn find() -> Result<(), String> {
            Flavour::Newest.find().map(drop)
        }

        async fn start() -> Outcome<Self> {
            let program = Flavour::Newest.find()?;
            Ok(Self(Node::start(&program, &Options::default()).await?))
        }

        fn url(&self) -> String {
            format!("zk://{}", self.0.address())
        }

        /// The nodes of sessions; and that there are more, if directories of locks are left.
        async fn entries(&self) -> Outcome<Vec<String>> {
            let sessions = self.0.command("dump").await?;
            let nodes = sessions.lines().map(str::trim);
            let nodes = nodes.filter(|line| line.starts_with('/'));
            let mut entries: Vec<String> = nodes.map(str::to_owned).collect();
            let count: u32 = self.0.metric("zk_znode_count").await?.parse()?;
            if count > NODES_MAX {
                entries.push(format!("{count} nodes"));
            }
            Ok(entries)
        }
    }
}

mod mysql {
    use dlock_servers::mysql::{Flavour, Node, Options};
    use dlock_verify::support::Outcome;

    use super::Server;

    pub(crate) struct MySql(Node);

    impl Server for MySql {
        const NAME: &'static str = "mysql";

        fn find() -> Result<(), String> {
            Flavour::MySqlNewest.find().map(drop)
        }

        async fn start() -> Outcome<Self> {
            Ok(Self(
                Node::start(Flavour::MySqlNewest, &Options::default()).await?,
            ))
        }

        fn url(&self) -> String {
            format!("{}?restart_guard=0s", self.0.url())
        }

        async fn entries(&self) -> Outcome<Vec<String>> {
            let tables =
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'dlock_asked'";
            if self.0.query(tables).await? == [["0"]] {
                return Ok(Vec::new());
            }
            let rows = "SELECT CONVERT(name USING utf8mb4) FROM locks.dlock_locks UNION ALL \
                        SELECT CONVERT(name USING utf8mb4) FROM locks.dlock_asked";
            Ok(self.0.query(rows).await?.concat())
        }
    }
}

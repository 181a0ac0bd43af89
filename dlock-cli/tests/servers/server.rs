//! Servers that can be taken down and started again.

use std::io;

use dlock_servers::{etcd, mysql, redis, zk};
use dlock_verify::support::Outcome;

/// A server of one kind.
pub(crate) trait Server: Sized + 'static {
    const NAME: &'static str;

    /// Why there is none on this machine.
    fn find() -> Result<(), String>;

    async fn start() -> Outcome<Self>;

    /// The URL, with a first key. A restart needs no guard.
    fn url(&self) -> String;

    fn kill(&mut self) -> io::Result<()>;

    async fn resume(&mut self) -> io::Result<()>;
}

impl Server for redis::Node {
    const NAME: &'static str = "redis";

    fn find() -> Result<(), String> {
        redis::Flavour::RedisStable.find().map(drop)
    }

    async fn start() -> Outcome<Self> {
        let program = redis::Flavour::RedisStable.find()?;
        Ok(Self::start(&program, &redis::Options::default()).await?)
    }

    fn url(&self) -> String {
        format!("redis://{}?restart_guard=0s", self.address())
    }

    fn kill(&mut self) -> io::Result<()> {
        self.kill()
    }

    async fn resume(&mut self) -> io::Result<()> {
        self.resume().await
    }
}

impl Server for etcd::Node {
    const NAME: &'static str = "etcd";

    fn find() -> Result<(), String> {
        etcd::Flavour::Newest.find().map(drop)
    }

    async fn start() -> Outcome<Self> {
        let program = etcd::Flavour::Newest.find()?;
        Ok(Self::start(&program, &etcd::Options::default()).await?)
    }

    fn url(&self) -> String {
        format!("etcd://{}?ttl=10s", self.address())
    }

    fn kill(&mut self) -> io::Result<()> {
        self.kill()
    }

    async fn resume(&mut self) -> io::Result<()> {
        self.resume().await
    }
}

impl Server for mysql::Node {
    const NAME: &'static str = "mysql";

    fn find() -> Result<(), String> {
        mysql::Flavour::MariaDbStable.find().map(drop)
    }

    async fn start() -> Outcome<Self> {
        let options = mysql::Options::default();
        Ok(Self::start(mysql::Flavour::MariaDbStable, &options).await?)
    }

    fn url(&self) -> String {
        format!("{}?restart_guard=0s", self.url())
    }

    fn kill(&mut self) -> io::Result<()> {
        self.kill()
    }

    async fn resume(&mut self) -> io::Result<()> {
        self.resume().await
    }
}

impl Server for zk::Node {
    const NAME: &'static str = "zk";

    fn find() -> Result<(), String> {
        zk::Flavour::Newest.find().map(drop)
    }

    async fn start() -> Outcome<Self> {
        let java = zk::Flavour::Newest.find()?;
        Ok(Self::start(&java, &zk::Options::default()).await?)
    }

    fn url(&self) -> String {
        format!("zk://{}?ttl=10s", self.address())
    }

    fn kill(&mut self) -> io::Result<()> {
        self.kill()
    }

    async fn resume(&mut self) -> io::Result<()> {
        self.resume().await
    }
}

//! etcd: a put with a lease and a delete by the driver, over a connection as dlock-etcd has it.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    backend::async_trait,
    config::{Config, Settings},
};
use etcd_client::{Client, PutOptions, Txn, TxnOp, TxnOpResponse};
use tokio::{task::JoinHandle, time::sleep};

use super::{
    etcd_lock::{EtcdLock, TTL_S, failed, revoke},
    floor::{Cycle, Floor, NewName, OwnLock, Server, Times, Usage, WRITE},
};
use crate::driver::{etcd::Members, http};

/// The page with the numbers that a member counts.
const METRICS: &str = "/metrics";

/// How often the lease is kept alive.
const KEEP_EVERY: Duration = Duration::from_secs(10);

/// dlock-etcd's own default prefix: a user of the server may be limited to it.
const PREFIX: &str = "dlock/";

/// A value as long as the one of dlock-etcd.
const VALUE: &str = "1780000000000000 4711@host";

/// In this version a transaction costs twice a put; so the floor is of bare transactions.
const TRANSACTIONS: &str = "3.4.";

/// One connection and one lease, shared by all tasks.
pub(crate) struct EtcdFloor {
    client: Client,
    members: Members,
    prefix: String,
    lease: i64,
    /// Whether the put is in a transaction, and the delete, too.
    in_txn: bool,
    own_lock: EtcdLock,
    keeping: JoinHandle<()>,
}

impl EtcdFloor {
    pub(crate) async fn connect(config: &Config) -> Result<Self> {
        let mut settings = Settings::of(config)?;
        let prefix = settings.take_prefix()?.unwrap_or_else(|| PREFIX.to_owned());
        let members = Members::take(&mut settings)?;
        let mut client = members.connect(&members.addresses[0]).await?;
        let version = client.status().await.map_err(failed)?;
        let lease = client.lease_grant(TTL_S, None).await.map_err(failed)?.id();
        Ok(Self {
            in_txn: version.version().starts_with(TRANSACTIONS),
            own_lock: EtcdLock::new(client.clone(), prefix.clone()),
            members,
            prefix,
            keeping: tokio::spawn(keep(client.clone(), lease)),
            client,
            lease,
        })
    }
}

/// Keeps the lease alive; a failure ends the cycles soon enough.
async fn keep(mut client: Client, lease: i64) {
    while client.lease_keep_alive(lease).await.is_ok() {
        sleep(KEEP_EVERY).await;
    }
}

impl Drop for EtcdFloor {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

#[async_trait]
impl Floor for EtcdFloor {
    fn what(&self) -> &'static str {
        if self.in_txn {
            "a transaction of a put with a lease, and a delete, by the driver alone"
        } else {
            "a put with a lease and a delete by the driver alone"
        }
    }

    fn task(&self, name: &str) -> Box<dyn Cycle> {
        Box::new(EtcdTask {
            puts: self.puts(),
            key: key_of(&self.prefix, name),
        })
    }

    fn new_names(&self) -> Box<dyn NewName> {
        Box::new(EtcdNewName {
            puts: self.puts(),
            prefix: self.prefix.clone(),
        })
    }

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
    }

    fn own_lock(&self) -> Option<&dyn OwnLock> {
        Some(&self.own_lock)
    }

    /// Revokes the leases, which all keys have.
    async fn close(&self) -> Result<()> {
        self.keeping.abort();
        self.own_lock.close().await?;
        revoke(&self.client, self.lease).await
    }
}

struct EtcdTask {
    puts: Puts,
    key: String,
}

#[async_trait]
impl Cycle for EtcdTask {
    async fn cycle(&mut self) -> Result<()> {
        self.puts.put_and_delete(&self.key).await
    }
}

struct EtcdNewName {
    puts: Puts,
    prefix: String,
}

#[async_trait]
impl NewName for EtcdNewName {
    async fn cycle(&mut self, name: &str) -> Result<()> {
        let key = key_of(&self.prefix, name);
        self.puts.put_and_delete(&key).await
    }
}

/// The key of a lock, as long as one of dlock-etcd.
fn key_of(prefix: &str, name: &str) -> String {
    format!("{prefix}{name}/00000000000000000000000000000000")
}

/// A connection that puts keys with a lease, and deletes them.
struct Puts {
    client: Client,
    lease: i64,
    in_txn: bool,
}

impl Puts {
    async fn put_and_delete(&mut self, key: &str) -> Result<()> {
        let options = Some(PutOptions::new().with_lease(self.lease));
        let deleted = if self.in_txn {
            let put = Txn::new().and_then([TxnOp::put(key, VALUE, options)]);
            self.client.txn(put).await.map_err(failed)?;
            let delete = Txn::new().and_then([TxnOp::delete(key, None)]);
            let answer = self.client.txn(delete).await.map_err(failed)?;
            let mut ops = answer.op_responses().into_iter();
            ops.find_map(|op| match op {
                TxnOpResponse::Delete(delete) => Some(delete.deleted()),
                _ => None,
            })
            .unwrap_or(0)
        } else {
            self.client.put(key, VALUE, options).await.map_err(failed)?;
            let delete = self.client.delete(key, None).await.map_err(failed)?;
            delete.deleted()
        };
        if deleted == 1 {
            return Ok(());
        }
        let why = format!("another client uses the key {key:?}");
        Err(Error::new(ErrorKind::Internal, why))
    }
}

#[async_trait]
impl Server for EtcdFloor {
    fn unit(&self) -> &'static str {
        WRITE
    }

    async fn round_trip(&self) -> Result<()> {
        let mut client = self.client.clone();
        let key = format!("{}write", self.prefix);
        let options = PutOptions::new().with_lease(self.lease);
        let put = client.put(key, VALUE, Some(options)).await;
        put.map(drop).map_err(failed)
    }

    async fn times(&self) -> Result<Times> {
        let metrics = self.metrics().await.unwrap_or_default();
        let seconds = |name| Duration::try_from_secs_f64(metric(&metrics, name)?).ok();
        Ok(Times {
            cpu: seconds("process_cpu_seconds_total"),
            flush: seconds("etcd_disk_wal_fsync_duration_seconds_sum"),
        })
    }

    async fn version(&self) -> Result<Option<String>> {
        let status = self.client.clone().status().await.map_err(failed)?;
        Ok(Some(format!("etcd {}", status.version())))
    }

    async fn usage(&self) -> Result<Usage> {
        let Some(metrics) = self.metrics().await else {
            return Ok(Usage::default());
        };
        let whole = |name| metric(&metrics, name).and_then(whole);
        Ok(Usage {
            requests: whole("grpc_server_msg_received_total"),
            bytes: whole("etcd_mvcc_db_total_size_in_use_in_bytes"),
        })
    }
}

impl EtcdFloor {
    fn puts(&self) -> Puts {
        Puts {
            client: self.client.clone(),
            lease: self.lease,
            in_txn: self.in_txn,
        }
    }

    /// The member's metrics; `None` if it does not offer them here, as with a URL of their own.
    async fn metrics(&self) -> Option<String> {
        let (host, port) = &self.members.addresses[0];
        let page = http::page(&self.members.opener, host, *port, METRICS).await;
        page.ok()
    }
}

/// The sum of all lines of the metric `name`, with any labels; `None` without a line.
fn metric(metrics: &str, name: &str) -> Option<f64> {
    let lines = metrics.lines().filter_map(|line| line.strip_prefix(name));
    let values = lines.filter(|rest| rest.starts_with([' ', '{']));
    let numbers = values.filter_map(|rest| rest.rsplit_once(' ')?.1.parse::<f64>().ok());
    numbers.reduce(|sum, value| sum + value)
}

/// A count that a metric gives as a fraction; exact up to 2^53.
fn whole(value: f64) -> Option<u64> {
    Some(Duration::try_from_secs_f64(value).ok()?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_metric_are_added() {
        let metrics = "# HELP a text\na{x=\"1\"} 3\na{x=\"2\"} 4.5\na_b 100\nc 1.2e+06\n";
        assert_eq!(metric(metrics, "a"), Some(7.5));
        assert_eq!(metric(metrics, "c").and_then(whole), Some(1_200_000));
        assert_eq!(metric(metrics, "d"), None);
    }
}

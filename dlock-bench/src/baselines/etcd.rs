//! etcd: a put with a lease and a delete by the driver, over a connection as dlock-etcd has it.

use std::time::Duration;

use dlock::config::BackendUrl;
use dlock_core::{Error, ErrorKind, Result, backend::async_trait};
use etcd_client::{Client, ConnectOptions, PutOptions, Txn, TxnOp, TxnOpResponse};
use tokio::{task::JoinHandle, time::sleep};

use super::{
    etcd_lock::{EtcdLock, TTL_S, failed},
    floor::{Floor, OwnLock, Server},
};
use crate::{report::Baseline, workload::Cycle};

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
    prefix: String,
    lease: i64,
    /// Whether the put is in a transaction, and the delete, too.
    in_txn: bool,
    own_lock: EtcdLock,
    keeping: JoinHandle<()>,
}

impl EtcdFloor {
    pub(crate) async fn connect(url: &BackendUrl) -> Result<Self> {
        let no_host = || Error::new(ErrorKind::InvalidConfig, "no member in the URL");
        let host = url.hosts().first().ok_or_else(no_host)?;
        let port = host.port.unwrap_or(2379);
        let mut options = ConnectOptions::new().with_require_leader(true);
        if let (Some(user), Some(password)) = (url.user(), url.password()) {
            options = options.with_user(user, password.expose());
        }
        let endpoint = format!("{}:{port}", host.name);
        let mut client = Client::connect([endpoint], Some(options))
            .await
            .map_err(failed)?;
        let version = client.status().await.map_err(failed)?;
        let lease = client.lease_grant(TTL_S, None).await.map_err(failed)?.id();
        let prefix = url.param("prefix").unwrap_or(PREFIX).to_owned();
        Ok(Self {
            in_txn: version.version().starts_with(TRANSACTIONS),
            own_lock: EtcdLock {
                client: client.clone(),
                prefix: prefix.clone(),
            },
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
            client: self.client.clone(),
            key: format!("{}{name}/00000000000000000000000000000000", self.prefix),
            lease: self.lease,
            in_txn: self.in_txn,
        })
    }

    fn server(&self) -> Option<&dyn Server> {
        Some(self)
    }

    fn own_lock(&self) -> Option<&dyn OwnLock> {
        Some(&self.own_lock)
    }
}

struct EtcdTask {
    client: Client,
    key: String,
    lease: i64,
    in_txn: bool,
}

#[async_trait]
impl Cycle for EtcdTask {
    async fn cycle(&mut self) -> Result<()> {
        let key = &*self.key;
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
        let why = format!("another client uses the key {:?}", self.key);
        Err(Error::new(ErrorKind::Internal, why))
    }
}

#[async_trait]
impl Server for EtcdFloor {
    fn unit(&self) -> &'static str {
        Baseline::WRITE
    }

    async fn round_trip(&self) -> Result<()> {
        let mut client = self.client.clone();
        let key = format!("{}write", self.prefix);
        let options = PutOptions::new().with_lease(self.lease);
        let put = client.put(key, VALUE, Some(options)).await;
        put.map(drop).map_err(failed)
    }

    async fn cpu_time(&self) -> Result<Option<Duration>> {
        Ok(None)
    }
}

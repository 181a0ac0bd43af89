//! A backend of another project, in full; what it takes to run the suite on it is at the end.
//!
//! It keeps its locks in one file, for the processes of one machine. It is the smallest store that ends a hold by
//! its ttl and that a killed or stopped process can be tried with. Not for use: every change writes the whole
//! file.

use std::{
    collections::HashMap,
    fs::{self, File},
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    AttemptId, Capabilities, Clock, Error, ErrorKind, Expiry, Fencing, Holder, LockName, LostCause,
    Modes, Order, Result, Token, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait, async_trait},
    toolkit::Lock,
};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// The interval at which a waiter checks the file.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// A client of the locks in a directory.
#[derive(Debug)]
struct Ledger {
    directory: PathBuf,
    /// Distinguishes its holds from those of other clients.
    client: u64,
    closed: AtomicBool,
}

/// The content of the file, by name.
type Table = HashMap<String, Entry>;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Entry {
    /// The last token: it stays when the lock is free.
    token: u64,
    held: Option<Held>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Held {
    holder: String,
    client: u64,
    /// On the boot-time clock, which the processes of a machine share.
    until: u64,
}

impl Entry {
    /// The current hold, if there is one.
    fn held(&mut self) -> Option<&mut Held> {
        let now = Clock::boottime().now().as_nanos();
        self.held.as_mut().filter(|held| held.until > now)
    }

    fn held_by(&mut self, id: AttemptId) -> Option<&mut Held> {
        self.held()
            .filter(|held| Holder::parse(&held.holder).is_some_and(|h| h.attempt == Some(id)))
    }
}

impl Ledger {
    const CAPABILITIES: Capabilities = Capabilities {
        backend: "ledger",
        modes: Modes::Exclusive,
        fencing: Fencing::Growing,
        order: Order::Unordered,
        waiting: Waiting::Polled,
        expiry: Expiry::Lease,
        ttl_min: Duration::from_millis(100),
        ttl_max: Duration::from_secs(86_400),
        held_max: Some(500),
        takeover_max: POLL_EVERY,
        restart_guard: Duration::ZERO,
    };

    /// Reads the table, lets `change` change it, and writes it back, while no other process does.
    fn change<T>(&self, change: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Unavailable, "this client is closed"));
        }
        self.write(change)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
        let (path, new) = (
            self.directory.join("table"),
            self.directory.join("table.new"),
        );
        let lock = File::create(self.directory.join("lock")).map_err(broken)?;
        lock.lock().map_err(broken)?;
        let text = if path.exists() {
            fs::read(&path).map_err(broken)?
        } else {
            b"{}".to_vec()
        };
        let mut table = serde_json::from_slice(&text).map_err(broken)?;
        let changed = change(&mut table)?;
        // Whole or not at all, whenever the process is killed.
        fs::write(&new, serde_json::to_vec(&table).map_err(broken)?).map_err(broken)?;
        fs::rename(&new, &path).map_err(broken)?;
        Ok(changed)
    }

    /// The lease, or nothing when it is taken.
    fn take(&self, request: &AcquireRequest) -> Result<Option<Lease>> {
        self.change(|table| {
            let (sent, until) = (request.sent_now(), request.clock().now().after(request.ttl));
            let entry = table.entry(request.name.to_string()).or_default();
            if entry.held_by(request.attempt.id()).is_none() {
                if entry.held().is_some() {
                    return Ok(None);
                }
                entry.token += 1;
            }
            let token = Token::new(entry.token).ok_or_else(|| broken("no token"))?;
            let holder = Holder::from_request(request, token).to_string();
            entry.held = Some(Held {
                holder,
                client: self.client,
                until: until.as_nanos(),
            });
            Ok(Some(request.granted(sent, request.ttl, token, ())))
        })
    }
}

fn broken(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot use the ledger").with_source(source)
}

#[async_trait]
impl DistributedLock for Ledger {
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        loop {
            if let Some(lease) = self.take(request)? {
                return Ok(lease);
            }
            request.attempt.report_contended();
            if request.wait == Wait::Never {
                return Err(Error::contended());
            }
            tokio::select! {
                () = tokio::time::sleep(POLL_EVERY) => {}
                () = request.attempt.cancelled() => return Err(Error::cancelled()),
            }
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let sent = lease.sent_now();
        self.change(|table| {
            let entry = table.get_mut(lease.name.as_str());
            Ok(match entry.and_then(|entry| entry.held_by(lease.id())) {
                Some(held) => {
                    held.until = lease.clock().now().after(lease.ttl).as_nanos();
                    lease.renewed(sent, lease.ttl)
                }
                None => Renewed::Lost(LostCause::Removed),
            })
        })
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.change(|table| {
            let entry = table.get_mut(lease.name.as_str());
            if let Some(entry) = entry.filter(|entry| entry.held.is_some())
                && entry.held_by(lease.id()).is_some()
            {
                entry.held = None;
            }
            Ok(())
        })
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.change(|table| {
            let held = table.get_mut(name.as_str()).and_then(Entry::held);
            Ok(held.and_then(|held| Holder::parse(&held.holder)))
        })
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.write(|table| {
            for entry in table.values_mut() {
                entry.held.take_if(|held| held.client == self.client);
            }
            Ok(())
        })
    }
}

// From here on: what the suite requires.

/// Each case has a directory for itself.
#[derive(Debug, Default)]
struct LedgerTarget(Lock<Vec<TempDir>>);

#[async_trait]
impl conformance_tests::Target for LedgerTarget {
    fn name(&self) -> &str {
        "ledger"
    }

    fn capabilities(&self) -> Capabilities {
        Ledger::CAPABILITIES
    }

    async fn address(&self) -> Result<String> {
        let directory = TempDir::new().map_err(broken)?;
        let address = directory.path().to_string_lossy().into_owned();
        self.0.lock().push(directory);
        Ok(address)
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        let (directory, closed) = (PathBuf::from(address), AtomicBool::new(false));
        Ok(Box::new(Ledger {
            directory,
            client: rand::random(),
            closed,
        }))
    }

    fn reach(&self) -> conformance_tests::Reach {
        conformance_tests::Reach::Processes
    }
}

fn main() -> ExitCode {
    conformance_tests::main(vec![Arc::new(LedgerTarget::default())])
}

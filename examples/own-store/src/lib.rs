//! A store of another project, in full.
//!
//! `src/main.rs` is the program `dlock` with this store. `tests/suite.rs` runs the contract's test suite on it.
//!
//! The store keeps its locks in one file, for the processes of one machine. It is the smallest store that ends a hold by
//! its ttl and that a killed or stopped process can be tried with. Not for use: every change writes the whole
//! file, and blocks its thread for that. A store that may be slow uses `tokio::task::spawn_blocking` there.

use std::{
    collections::HashMap,
    fs::{self, File},
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use dlock_core::{
    AttemptId, Capabilities, Clock, Error, ErrorKind, Expiry, Fencing, Holder, LockName, LostCause,
    Modes, Order, Result, Token, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait, async_trait},
};
use serde::{Deserialize, Serialize};

/// The interval at which a waiter checks the file.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// A client of the locks in a directory.
#[derive(Debug)]
pub struct Ledger {
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
    /// In nanoseconds on the boot-time clock, which the processes of a machine share.
    until: u64,
    /// In nanoseconds.
    ttl: u64,
}

impl Held {
    /// Ends `ttl` from now.
    fn extend(&mut self, ttl: Duration) {
        let now = Clock::boottime().now();
        self.until = now.after(ttl).as_nanos();
        self.ttl = self.until - now.as_nanos();
    }

    /// The clock begins at zero with each boot: a hold that would last longer than its ttl is of an earlier one.
    fn has_ended(&self) -> bool {
        let now = Clock::boottime().now().as_nanos();
        self.until <= now || self.until - now > self.ttl
    }

    fn holder(&self) -> Holder {
        Holder::decode(self.holder.as_bytes(), None)
    }
}

impl Entry {
    fn held_by(&mut self, id: AttemptId) -> Option<&mut Held> {
        let held = self.held.as_mut();
        held.filter(|held| held.holder().attempt == Some(id))
    }
}

impl Ledger {
    /// The promises of this store.
    pub const CAPABILITIES: Capabilities = Capabilities {
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

    /// Makes a client of the locks in `directory`, which exists.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            client: rand::random(),
            closed: AtomicBool::new(false),
        }
    }

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
        let mut table: Table = serde_json::from_slice(&text).map_err(broken)?;
        for entry in table.values_mut() {
            entry.held.take_if(|held| held.has_ended());
        }
        let changed = change(&mut table)?;
        // Whole or not at all, whenever the process is killed.
        fs::write(&new, serde_json::to_vec(&table).map_err(broken)?).map_err(broken)?;
        fs::rename(&new, &path).map_err(broken)?;
        Ok(changed)
    }

    /// The lease, or nothing when it is taken.
    fn take(&self, request: &AcquireRequest) -> Result<Option<Lease>> {
        self.change(|table| {
            let sent = request.sent_now();
            let entry = table.entry(request.name.to_string()).or_default();
            if entry.held_by(request.attempt.id()).is_none() {
                if entry.held.is_some() {
                    return Ok(None);
                }
                entry.token += 1;
            }
            let token = Token::new(entry.token).ok_or_else(|| broken("no token"))?;
            let holder = Holder::encode(request, Some(token));
            let mut held = Held {
                holder,
                client: self.client,
                until: 0,
                ttl: 0,
            };
            held.extend(request.ttl);
            entry.held = Some(held);
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
                    held.extend(lease.ttl);
                    lease.renewed(sent, lease.ttl)
                }
                None => Renewed::Lost(LostCause::Removed),
            })
        })
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.change(|table| {
            let entry = table.get_mut(lease.name.as_str());
            if let Some(entry) = entry
                && entry.held_by(lease.id()).is_some()
            {
                entry.held = None;
            }
            Ok(())
        })
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.change(|table| {
            let held = table
                .get(name.as_str())
                .and_then(|entry| entry.held.as_ref());
            Ok(held.map(Held::holder))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_of_an_earlier_boot_has_ended() {
        let ttl = Duration::from_secs(10);
        let mut held = Held {
            holder: String::new(),
            client: 1,
            until: 0,
            ttl: 0,
        };
        held.extend(ttl);
        assert!(!held.has_ended());
        // The machine had run for a day when the lock was taken.
        held.until += 86_400 * 1_000_000_000;
        assert!(held.has_ended());
    }
}

//! The locker of a worker, which is replaced now and then.

use std::{pin::Pin, time::Duration};

use dlock_core::{Locker, Result};
use tokio::{sync::Mutex, time::sleep};

/// The pause before another try to connect. The parent ends a worker that tries for too long.
const CONNECT_AGAIN: Duration = Duration::from_millis(100);

/// The end of a worker waits for so long for its releases.
const SHUTDOWN_MAX: Duration = Duration::from_secs(5);

/// How a program connects to a URL.
pub(super) type Connect =
    Box<dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<Locker>> + Send>> + Send + Sync>;

/// The present locker.
pub(super) struct Lockers {
    url: String,
    connect: Connect,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    locker: Option<Locker>,
    /// The number of the locker: how many were forgotten before it.
    number: u16,
}

impl Lockers {
    pub(super) fn new(url: String, connect: Connect) -> Self {
        Self {
            url,
            connect,
            current: Mutex::default(),
        }
    }

    /// The present locker and its number; connects until that succeeds.
    pub(super) async fn current(&self) -> (Locker, u16) {
        let mut current = self.current.lock().await;
        loop {
            if let Some(locker) = &current.locker {
                return (locker.clone(), current.number);
            }
            match (self.connect)(self.url.clone()).await {
                Ok(locker) => current.locker = Some(locker),
                Err(_) => sleep(CONNECT_AGAIN).await,
            }
        }
    }

    /// Forgets the present locker, which ends with its last guard.
    pub(super) async fn forget(&self) {
        let mut current = self.current.lock().await;
        if current.locker.take().is_some() {
            current.number = current.number.saturating_add(1);
        }
    }

    pub(super) async fn close(&self) {
        if let Some(locker) = self.current.lock().await.locker.take() {
            // The run may end with a fault: what is left then ends by time.
            let _ = locker.shutdown(SHUTDOWN_MAX).await;
        }
    }
}

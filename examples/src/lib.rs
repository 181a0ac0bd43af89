//! The part that the examples have in common.

use std::io;

use tokio::signal::{
    ctrl_c,
    unix::{SignalKind, signal},
};

/// Waits for Ctrl-C, or for the signal with which systemd and Kubernetes end a service.
///
/// # Errors
///
/// When the signals cannot be received.
///
/// # Cancel safety
///
/// Safe.
pub async fn stop_requested() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

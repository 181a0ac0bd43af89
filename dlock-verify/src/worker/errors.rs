//! A worker's standard error, as its parent reads it.

use std::io::{self, Write};

use tokio::{io::AsyncReadExt, process::ChildStderr};

/// How many bytes of its end a failure shows.
const SHOWN_MAX: usize = 2_048;

/// Passes a worker's standard error on to that of this process, and returns its end.
pub(super) async fn pass_on(mut errors: ChildStderr) -> String {
    let (mut end, mut read) = (Vec::new(), [0; SHOWN_MAX]);
    while let Ok(length @ 1..) = errors.read(&mut read).await {
        // Where that is closed, the failure has it.
        let _ = io::stderr().write_all(&read[..length]);
        end.extend_from_slice(&read[..length]);
        end.drain(..end.len().saturating_sub(SHOWN_MAX));
    }
    String::from_utf8_lossy(&end).trim_end().to_owned()
}

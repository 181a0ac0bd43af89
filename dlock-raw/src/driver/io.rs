//! Bytes to and from a server, encrypted or not.

use tokio::io::{AsyncRead, AsyncWrite};

/// Both directions of a connection.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub(crate) type Stream = Box<dyn Io>;

//! Everything in this crate that depends on the operating system. `cargo xtask tidy` allows it nowhere else.

use std::io;

use redis::io::tcp::{TcpSettings, socket2::SockRef};

/// Sets the time after which data that no peer acknowledged end a connection. Other systems have no such setting.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
pub(super) fn set_user_timeout(socket: SockRef<'_>, tcp: &TcpSettings) -> io::Result<()> {
    socket.set_tcp_user_timeout(tcp.user_timeout())
}

/// Does nothing.
#[cfg(not(any(target_os = "android", target_os = "fuchsia", target_os = "linux")))]
pub(super) fn set_user_timeout(_: SockRef<'_>, _: &TcpSettings) -> io::Result<()> {
    Ok(())
}

//! One request of HTTP/1.1.

use std::net::SocketAddr;

use dlock_verify::support::Outcome;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Sends a request without a body, and returns the status and the whole response.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
) -> Outcome<(String, String)> {
    let mut stream = begin(address, method, path).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let status = response.split(' ').nth(1).ok_or("no status")?;
    Ok((status.to_owned(), response))
}

/// Sends a request, and leaves its response to the caller.
pub(crate) async fn begin(address: SocketAddr, method: &str, path: &str) -> Outcome<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

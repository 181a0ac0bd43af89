//! One request by HTTP, for servers that have numbers on a page.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use super::stream::Opener;

/// The bound of a request with its reply.
const REPLY_MAX: Duration = Duration::from_secs(2);

/// The bound of a page: the metrics of a large etcd have a tenth of this.
const PAGE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Reads the page at `path`.
pub(crate) async fn page(opener: &Opener, host: &str, port: u16, path: &str) -> io::Result<String> {
    let exchange = async {
        let mut stream = opener.open(host, port).await?;
        // Of an older protocol, so that the reply has no chunks and ends with the connection.
        let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut page = Vec::new();
        stream.take(PAGE_BYTES_MAX).read_to_end(&mut page).await?;
        io::Result::Ok(page)
    };
    let page = match timeout(REPLY_MAX, exchange).await {
        Ok(page) => page?,
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
    };
    let page = String::from_utf8_lossy(&page);
    let (head, body) = page.split_once("\r\n\r\n").unwrap_or((&*page, ""));
    let status = head.lines().next().unwrap_or_default();
    match status.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(io::Error::other(format!(
            "the reply to {path} is {status:?}"
        ))),
    }
}

//! The four-letter words.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Sends a server one of the four-letter words.
pub(super) async fn command(address: SocketAddr, word: &str) -> io::Result<String> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(word.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    timeout(ANSWER_MAX, exchange).await?
}

/// The value in the line `field: value`, or `field<tab>value`.
pub(super) fn field_of(lines: &str, field: &str) -> Option<String> {
    let values = lines.lines().filter_map(|line| line.strip_prefix(field));
    let values =
        values.filter_map(|rest| rest.strip_prefix(": ").or_else(|| rest.strip_prefix('\t')));
    values.map(|value| value.trim().to_owned()).next()
}

//! Commands to a server through its administration socket.

use std::{io, path::PathBuf, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};

use super::{Login, Reply};

/// How long an answer may take: a server that is stopped gives none.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The way to one server.
#[derive(Clone, Debug)]
pub(super) struct Admin {
    pub(super) socket: PathBuf,
    pub(super) login: Login,
}

impl Admin {
    /// Sends commands, on a connection of their own, and gives the last reply.
    ///
    /// # Errors
    ///
    /// When there is no answer within 10 s, or one of them is a refusal.
    pub(super) async fn command(&self, commands: &[&[&str]]) -> io::Result<Reply> {
        let login = self.login.command();
        let login = login.iter().map(Vec::as_slice);
        let all: Vec<_> = login.chain(commands.iter().copied()).collect();
        match timeout(ANSWER_MAX, self.exchange(&all)).await?? {
            Reply::Error(refusal) => Err(io::Error::other(format!("{commands:?}: {refusal}"))),
            reply => Ok(reply),
        }
    }

    /// Sends the commands at once, and gives the last reply, or the first refusal.
    async fn exchange(&self, commands: &[&[&str]]) -> io::Result<Reply> {
        let mut stream = UnixStream::connect(&self.socket).await?;
        let bytes: Vec<_> = commands.iter().flat_map(|words| encoded(words)).collect();
        stream.write_all(&bytes).await?;
        let mut received = Vec::new();
        let mut replies = 0;
        loop {
            let mut rest = &received[..];
            while let Some(reply) = Reply::take(&mut rest)? {
                replies += 1;
                if replies == commands.len() || matches!(reply, Reply::Error(_)) {
                    return Ok(reply);
                }
            }
            let taken = received.len() - rest.len();
            received.drain(..taken);
            if stream.read_buf(&mut received).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

fn encoded(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}

//! Ending the session of another client, which takes its password.
//!
//! The servers make the password from the session's number, with a generator and a secret that are the
//! same everywhere.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// How long it may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The constant that a session's number is mixed with (`ZooKeeperServer.superSecret`).
const SECRET: i64 = 0xB341_5C00;

/// The generator of `java.util.Random`.
const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;

/// The type of a request to end one's session (`OpCode.closeSession`).
const CLOSE: i32 = -11;

/// The requested session timeout: longer than any that a server grants.
const TIMEOUT_MS: i32 = 60_000;

/// Takes over the session by a connection of its own, and ends it.
pub(super) async fn end_session(server: SocketAddr, session: i64) -> io::Result<()> {
    let ending = async {
        let mut stream = TcpStream::connect(server).await?;
        let password = password(session);
        let mut connect = Vec::new();
        // The version of the protocol, and the last transaction that was seen.
        connect.extend(0_i32.to_be_bytes());
        connect.extend(0_i64.to_be_bytes());
        connect.extend(TIMEOUT_MS.to_be_bytes());
        connect.extend(session.to_be_bytes());
        connect.extend(16_i32.to_be_bytes());
        connect.extend(password);
        // Not for reading only.
        connect.push(0);
        send(&mut stream, &connect).await?;
        let answer = receive(&mut stream).await?;
        // Without a time-out there is no such session any more.
        if answer.get(4..8) == Some(&[0; 4]) {
            return Ok(());
        }
        let number = 1_i32.to_be_bytes();
        send(&mut stream, &[number, CLOSE.to_be_bytes()].concat()).await?;
        receive(&mut stream).await.map(drop)
    };
    timeout(ANSWER_MAX, ending).await?
}

fn password(session: i64) -> [u8; 16] {
    let mut state = ((session ^ SECRET).cast_unsigned() ^ MULTIPLIER) & MASK;
    let mut password = [0; 16];
    for four in password.chunks_mut(4) {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        // 32 of its 48 bits, the lowest byte first.
        let [_, _, a, b, c, d, ..] = state.to_be_bytes();
        four.copy_from_slice(&[d, c, b, a]);
    }
    password
}

async fn send(stream: &mut TcpStream, what: &[u8]) -> io::Result<()> {
    let length = i32::try_from(what.len()).map_err(io::Error::other)?;
    stream.write_i32(length).await?;
    stream.write_all(what).await
}

async fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = usize::try_from(stream.read_i32().await?).map_err(io::Error::other)?;
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

//! The servers for programs in a root: a Redis, and a name server.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, UdpSocket},
    path::Path,
    process::Child,
    thread,
};

use crate::{
    command::Tool,
    failure::{Failure, Result},
    files::cannot,
};

/// A Redis of its own on a free port; killed when this is dropped.
pub(super) struct Redis {
    process: Child,
    port: u16,
}

impl Redis {
    pub(super) fn start(project: &Path) -> Result<Self> {
        let failed = |error| Failure::new(format!("no free port: {error}"));
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = socket.local_addr().map_err(failed)?.port();
        drop(socket);
        let folder = project.join("target/roots");
        fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
        let process = Tool::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port"])
            .args([port.to_string()])
            .in_folder(&folder)
            .start()?;
        Ok(Self { process, port })
    }

    /// The URL by the name `host`. The first connection waits until it has started.
    pub(super) fn url(&self, host: &str) -> String {
        let port = self.port;
        format!("redis://{host}:{port}?restart_guard=0s&connect_wait=20s")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Fails only if it has ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A name server that knows one name, as this machine.
pub(super) struct Names;

/// The longest message without extensions.
const MESSAGE_BYTES_MAX: usize = 512;

/// The bytes before the question.
const HEADER_BYTES: usize = 12;

impl Names {
    /// An address of this machine that no other name server has.
    pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 83, 0, 53);

    /// The name.
    pub(super) const HOST: &str = "db-2.example";

    /// Answers until xtask ends.
    pub(super) fn start() -> Result<()> {
        let socket = UdpSocket::bind((Self::ADDRESS, 53));
        let socket =
            socket.map_err(|error| Failure::new(format!("no name server here: {error}")))?;
        thread::spawn(move || {
            let mut message = [0; MESSAGE_BYTES_MAX];
            while let Ok((length, client)) = socket.recv_from(&mut message) {
                if let Some(answer) = answer(&message[..length]) {
                    let _ = socket.send_to(&answer, client);
                }
            }
        });
        Ok(())
    }
}

/// The answer to a question: an address, or for other names and types none.
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    const IS_ANSWER: u8 = 0x84;
    const NO_SUCH_NAME: u8 = 3;
    const ADDRESS_OF: [u8; 4] = [0, 1, 0, 1];
    const POINTER_TO_QUESTION: [u8; 2] = [0xc0, 12];
    let name = name();
    let rest = question.get(HEADER_BYTES..)?;
    let is_known = rest.starts_with(&name);
    let end = rest.iter().position(|byte| *byte == 0)? + 1;
    let kind = rest.get(end..end + 4)?;
    let has_address = is_known && kind == ADDRESS_OF;
    let code = if is_known { 0 } else { NO_SUCH_NAME };
    let mut answer = question.get(..2)?.to_vec();
    answer.extend([IS_ANSWER, code, 0, 1, 0, u8::from(has_address), 0, 0, 0, 0]);
    answer.extend(rest.get(..end + 4)?);
    if has_address {
        answer.extend(POINTER_TO_QUESTION);
        answer.extend(ADDRESS_OF);
        // For a minute, and of four bytes.
        answer.extend([0, 0, 0, 60, 0, 4]);
        answer.extend(Ipv4Addr::LOCALHOST.octets());
    }
    Some(answer)
}

/// The name in the form of a message: each part after its length, and a zero.
fn name() -> Vec<u8> {
    let parts = Names::HOST.split('.').flat_map(|part| {
        let length = u8::try_from(part.len()).unwrap_or_default();
        [length].into_iter().chain(part.bytes())
    });
    parts.chain([0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_has_an_address() {
        let question = |name: &[u8], kind| {
            let mut question = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            question.extend(name);
            question.extend([0, kind, 0, 1]);
            question
        };
        let found = answer(&question(&name(), 1)).unwrap();
        assert_eq!(&found[..4], [7, 9, 0x84, 0]);
        assert!(found.ends_with(&[0, 4, 127, 0, 0, 1]));
        // Of the sixth version of IP it has none.
        let none = answer(&question(&name(), 28)).unwrap();
        assert_eq!((none[3], none[7]), (0, 0));
        let unknown = answer(&question(&[1, b'x', 0], 1)).unwrap();
        assert_eq!((unknown[3], unknown[7]), (3, 0));
        assert_eq!(answer(&[1, 2, 3]), None);
    }
}

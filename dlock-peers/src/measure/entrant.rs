//! A client in a run: its process, and the slices that it has done.

use dlock_servers::clients::Peer;
use serde::de::DeserializeOwned;

use super::slice::Slice;
use crate::{
    catalogue::Client,
    failure::Failure,
    process::{Request, Version},
    server::Server,
};

pub(crate) struct Entrant {
    pub(crate) client: Client,
    /// Whether it is there for the second time.
    pub(crate) again: bool,
    pub(crate) version: Option<String>,
    pub(crate) slices: Vec<Slice>,
    process: Result<Peer, String>,
}

impl Entrant {
    /// Starts its process; one that does not start is kept with the reason.
    pub(super) async fn start(client: Client, again: bool, server: &Server) -> Self {
        let mut entrant = Self {
            client,
            again,
            version: None,
            slices: Vec::new(),
            process: Err(String::new()),
        };
        let words = client.words(&server.address(), &server.url());
        entrant.process = match words {
            Ok(words) => Peer::start(words).await.map_err(|error| error.to_string()),
            Err(missing) => Err(missing),
        };
        if entrant.process.is_ok() {
            let version = entrant.request::<Version>(Request::Version).await;
            entrant.version = version.and_then(|version| version.version);
        }
        entrant
    }

    /// Why it is not measured.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.process.as_ref().err().map(String::as_str)
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.process.as_ref().ok()?.pid()
    }

    /// Sends a request, and waits for the answer. A process that fails is not measured any more.
    pub(super) async fn request<A: DeserializeOwned>(&mut self, request: Request) -> Option<A> {
        let process = self.process.as_mut().ok()?;
        match call(process, request).await {
            Ok(answer) => Some(answer),
            Err(failure) => {
                self.process = Err(format!("{}: {failure}", request.line()));
                self.slices.clear();
                None
            }
        }
    }
}

async fn call<A: DeserializeOwned>(process: &mut Peer, request: Request) -> Result<A, Failure> {
    process.say(&request.line()).await?;
    let answer = process.hear().await?;
    serde_json::from_str(&answer).map_err(|_| answer.into())
}

//! The clients in Rust, as processes of their own.

mod client;
mod cluster;
mod connect;
mod dlock;
mod etcd;
mod floor;
mod mysql;
mod raw;
mod redis;
mod version;
mod workloads;

use std::{
    io::{self, BufRead as _},
    iter,
    time::Duration,
};

use serde::Serialize;
use tokio::runtime::Runtime;

use self::{client::Client, connect::connect};
use crate::{
    failure::Failure,
    process::{Request, parse},
    say::say,
};

/// Does what the lines of the input request, to its end.
///
/// # Errors
///
/// When a request fails.
pub(crate) fn serve(name: &str, url: &str) -> Result<(), Failure> {
    let runtime = Runtime::new()?;
    let mut served = Served {
        name,
        url,
        client: runtime.block_on(connect(name, url))?,
        apart: Vec::new(),
    };
    say("ready");
    for line in io::stdin().lock().lines() {
        let answer = runtime.block_on(served.answer(parse(&line?)?))?;
        say(&answer);
    }
    Ok(())
}

struct Served<'a> {
    name: &'a str,
    url: &'a str,
    client: Box<dyn Client>,
    /// Clients with a connection each, for as many tasks as were wanted so far. They stay: their connecting would be
    /// counted.
    apart: Vec<Box<dyn Client>>,
}

impl Served<'_> {
    async fn answer(&mut self, request: Request) -> Result<String, Failure> {
        let (name, url) = (self.name, self.url);
        match request {
            Request::Version => line(&version::of(name)?),
            Request::Cycles { tasks, window } => {
                let clients = iter::repeat_n(&*self.client, tasks);
                line(&workloads::cycles(clients, window).await?)
            }
            Request::Once { tasks, window } => {
                line(&workloads::once(&*self.client, tasks, window).await?)
            }
            Request::Apart { tasks, window } => {
                while self.apart.len() < tasks {
                    self.apart.push(connect(name, url).await?);
                }
                let clients = self.apart.iter().take(tasks).map(|client| &**client);
                line(&workloads::cycles(clients, window).await?)
            }
            Request::HandOver { window } => line(&workloads::hand_over(name, url, window).await?),
            Request::Contend { clients, window } => {
                let hold = Duration::ZERO;
                line(&workloads::contend(name, url, clients, hold, window).await?)
            }
            Request::Herd {
                clients,
                hold,
                window,
            } => line(&workloads::contend(name, url, clients, hold, window).await?),
        }
    }
}

fn line(answer: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string(answer)?)
}

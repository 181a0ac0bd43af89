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
    let client = runtime.block_on(connect(name, url))?;
    say("ready");
    for line in io::stdin().lock().lines() {
        let answer = runtime.block_on(answer(&*client, name, url, parse(&line?)?))?;
        say(&answer);
    }
    Ok(())
}

async fn answer(
    client: &dyn Client,
    name: &str,
    url: &str,
    request: Request,
) -> Result<String, Failure> {
    match request {
        Request::Version => line(&version::of(name)?),
        Request::Cycles { tasks, window } => line(&workloads::cycles(client, tasks, window).await?),
        Request::Once { tasks, window } => line(&workloads::once(client, tasks, window).await?),
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

fn line(answer: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string(answer)?)
}

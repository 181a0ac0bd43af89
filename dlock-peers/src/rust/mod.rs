//! The clients in Rust, as processes of their own.

mod client;
mod connect;
mod dlock;
mod etcd;
mod mysql;
mod raw;
mod redis;
mod version;
mod workloads;

use std::io::{self, BufRead as _};

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
        Request::HandOver { window } => line(&workloads::hand_over(name, url, window).await?),
        Request::Contend { clients, window } => {
            line(&workloads::contend(name, url, clients, window).await?)
        }
    }
}

fn line(answer: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string(answer)?)
}

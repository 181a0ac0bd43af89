//! The workers of a move, as their parent sees them.

use std::{env, sync::Arc};

use dlock_verify::{
    history::{Event, EventKind},
    random::Random,
    support::{Outcome, soon},
    worker::WorkerProcess,
};
use tokio::process::Command;

use super::{
    book::Book,
    protocol::{Assignment, Order, WORKER_ENV},
    stores::{Stores, Url},
};

/// The end of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The worker releases its locks and leaves.
    Ordered,
    /// SIGKILL.
    Killed,
}

/// The workers, and the URLs that clients had.
pub(crate) struct Fleet {
    pub(crate) book: Arc<Book>,
    members: Vec<Member>,
    /// A worker with the URL of the old store, which is not restarted.
    forgotten: Option<Member>,
    /// The URL of each client, by its number less 1.
    pub(crate) urls: Vec<Url>,
    pub(crate) restarts: usize,
    pub(crate) kills: usize,
    random: Random,
}

struct Member {
    client: u32,
    url: Url,
    process: WorkerProcess,
}

impl Fleet {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            book: Arc::new(Book::new()),
            members: Vec::new(),
            forgotten: None,
            urls: Vec::new(),
            restarts: 0,
            kills: 0,
            random: Random::new(seed),
        }
    }

    /// Starts a worker; its client number.
    pub(crate) fn start(&mut self, stores: &Stores, url: Url) -> Outcome<u32> {
        let member = self.launch(stores, url, false)?;
        let client = member.client;
        self.members.push(member);
        Ok(client)
    }

    /// Starts a worker with the old store alone, which is forgotten at the switch; its client number.
    pub(crate) fn start_forgotten(&mut self, stores: &Stores) -> Outcome<u32> {
        let member = self.launch(stores, Url::Old, true)?;
        let client = member.client;
        self.forgotten = Some(member);
        Ok(client)
    }

    fn launch(&mut self, stores: &Stores, url: Url, is_forgotten: bool) -> Outcome<Member> {
        self.urls.push(url);
        let client = u32::try_from(self.urls.len())?;
        let assignment = Assignment {
            url: stores.url(url)?,
            client,
            seed: self.random.number(),
            is_forgotten,
        };
        let mut command = Command::new(env::current_exe()?);
        command.env(WORKER_ENV, serde_json::to_string(&assignment)?);
        let book = self.book.clone();
        let process = WorkerProcess::start(command, move |report| {
            book.take(report);
            None::<Order>
        })?;
        Ok(Member {
            client,
            url,
            process,
        })
    }

    /// Waits until each worker has been granted a lock.
    pub(crate) async fn all_work(&self) -> Outcome {
        for member in &self.members {
            self.book.granted_to(member.client, 1).await?;
        }
        Ok(())
    }

    /// Ends the worker at `index`, and starts another one with `url`; its number.
    pub(crate) async fn replace(
        &mut self,
        stores: &Stores,
        index: usize,
        url: Url,
        ending: Ending,
    ) -> Outcome<u32> {
        let member = self.members.swap_remove(index);
        self.end(member, ending).await?;
        self.restarts += 1;
        self.start(stores, url)
    }

    /// Gives `url` to all workers.
    pub(crate) async fn replace_all(&mut self, stores: &Stores, url: Url) -> Outcome {
        while let Some(index) = self.members.iter().position(|member| member.url != url) {
            self.replace(stores, index, url, Ending::Ordered).await?;
        }
        Ok(())
    }

    pub(crate) async fn end_all(&mut self) -> Outcome {
        self.members.extend(self.forgotten.take());
        while let Some(member) = self.members.pop() {
            self.end(member, Ending::Ordered).await?;
        }
        Ok(())
    }

    async fn end(&mut self, member: Member, ending: Ending) -> Outcome {
        let Member {
            client, process, ..
        } = member;
        match ending {
            Ending::Ordered => {
                process.order(&Order::End).await?;
                soon("the end of a worker", process.finished()).await?
            }
            Ending::Killed => {
                self.kills += 1;
                let at = self.book.now();
                soon("the end of a killed worker", process.kill()).await??;
                // After its last report, which may be later.
                let killed = Event::new(at, client, EventKind::Killed);
                self.book.record(killed);
                Ok(())
            }
        }
    }

    /// The index of the worker with the number `client`.
    pub(crate) fn index_of(&self, client: u32) -> Outcome<usize> {
        let index = self
            .members
            .iter()
            .position(|member| member.client == client);
        index.ok_or_else(|| format!("no worker {client}").into())
    }

    /// The index of any worker.
    pub(crate) fn any(&mut self) -> usize {
        let chosen = self.random.below(self.members.len() as u64);
        usize::try_from(chosen).unwrap_or_default()
    }

    pub(crate) fn url_of(&self, index: usize) -> Url {
        self.members[index].url
    }

    /// Stops the worker at `index` where it is (SIGSTOP).
    pub(crate) fn stop(&self, index: usize) -> Outcome {
        let member = &self.members[index];
        self.book.note(member.client, EventKind::Stopped);
        member.process.stop()
    }

    /// Lets it go on (SIGCONT).
    pub(crate) fn resume(&self, index: usize) -> Outcome {
        let member = &self.members[index];
        member.process.resume()?;
        self.book.note(member.client, EventKind::Resumed);
        Ok(())
    }
}

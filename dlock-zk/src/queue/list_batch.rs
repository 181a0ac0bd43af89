//! Lists of many queues, in one request.
//!
//! A free lock is acquired by a node and a list of its queue. With many tasks in one session the lists would be a
//! third of all requests. So the lists that are requested in one round of the runtime are sent together.

use std::sync::Arc;

use dlock_core::toolkit::Lock;
use tokio::sync::oneshot;
use zookeeper_client::{Client, Error as ZkError, MultiReadResult};

/// The most lists in a request: a server answers them all before it turns to others.
const SIZE_MAX: usize = 128;

type Children = Result<Vec<String>, ZkError>;

/// Sends lists of queues in batches.
#[derive(Clone, Default)]
pub(crate) struct ListBatcher(Arc<Lock<Vec<List>>>);

struct List {
    directory: String,
    reply: oneshot::Sender<Children>,
}

impl ListBatcher {
    /// The children of `directory`, as they are after all requests that were sent before this call.
    pub(crate) async fn children(&self, client: &Client, directory: &str) -> Children {
        let (reply, replied) = oneshot::channel();
        let list = List {
            directory: directory.to_owned(),
            reply,
        };
        let is_first = {
            let mut pending = self.0.lock();
            pending.push(list);
            pending.len() == 1
        };
        if is_first {
            tokio::spawn(self.clone().flush(client.clone()));
        }
        replied.await.unwrap_or(Err(ZkError::ConnectionLoss))
    }

    async fn flush(self, client: Client) {
        tokio::task::yield_now().await;
        let mut lists = std::mem::take(&mut *self.0.lock());
        while !lists.is_empty() {
            let rest = lists.split_off(lists.len().min(SIZE_MAX));
            send(&client, lists).await;
            lists = rest;
        }
    }
}

async fn send(client: &Client, lists: Vec<List>) {
    let mut reader = client.new_multi_reader();
    let added = lists
        .iter()
        .try_for_each(|list| reader.add_get_children(&list.directory));
    let answers = match added {
        Ok(()) => reader.commit().await,
        Err(error) => Err(error),
    };
    match answers {
        Ok(answers) => {
            for (list, answer) in lists.into_iter().zip(answers) {
                let _ = list.reply.send(children_of(answer));
            }
        }
        Err(error) => {
            for list in lists {
                let _ = list.reply.send(Err(error.clone()));
            }
        }
    }
}

fn children_of(answer: MultiReadResult) -> Children {
    match answer {
        MultiReadResult::Children { children } => Ok(children),
        MultiReadResult::Error { err } => Err(err),
        _ => Err(ZkError::UnexpectedError(
            "an unexpected reply to a list".to_owned(),
        )),
    }
}

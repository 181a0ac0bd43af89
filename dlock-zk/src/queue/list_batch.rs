//! Lists of many queues, in one request.
//!
//! A free lock is acquired by a node and a list of its queue. With many tasks in one session the lists would be a
//! third of all requests. So lists that are requested at about the same time are sent together.

use std::time::Duration;

use dlock_core::{
    Clock,
    backend::SentAt,
    toolkit::{BatchReply, Batcher},
};
use tokio::time::timeout;
use zookeeper_client::{Client, Error as ZkError, MultiReadResult};

use crate::errors;

/// The most lists in a request: a server answers them all before it turns to others.
const SIZE_MAX: usize = 128;

/// Sends lists of queues in batches.
pub(crate) struct ListBatcher(Batcher<List, Option<Vec<String>>>);

struct List {
    client: Client,
    directory: String,
}

impl ListBatcher {
    pub(crate) fn new(clock: Clock, request_timeout: Duration) -> Self {
        Self(Batcher::eager(SIZE_MAX, move |lists| {
            let clock = clock.clone();
            Box::pin(send(clock, request_timeout, lists))
        }))
    }

    /// The children of `directory`, as they are after all requests that were sent before this call. `None` if the
    /// list failed.
    pub(crate) async fn children(&self, client: &Client, directory: &str) -> Option<Vec<String>> {
        let list = List {
            client: client.clone(),
            directory: directory.to_owned(),
        };
        self.0.join(list).await.ok()?.1
    }
}

async fn send(
    clock: Clock,
    request_timeout: Duration,
    lists: Vec<List>,
) -> BatchReply<Option<Vec<String>>> {
    let sent = SentAt::now(&clock);
    let answers = timeout(request_timeout, read(&lists)).await;
    let answers = answers.unwrap_or(Err(ZkError::Timeout));
    let answers = answers.map_err(errors::of_request)?;
    Ok((sent, answers.into_iter().map(children_of).collect()))
}

async fn read(lists: &[List]) -> Result<Vec<MultiReadResult>, ZkError> {
    let Some(List { client, .. }) = lists.first() else {
        return Ok(Vec::new());
    };
    let mut reader = client.new_multi_reader();
    for list in lists {
        reader.add_get_children(&list.directory)?;
    }
    reader.commit().await
}

/// `None` for a directory that does not exist.
pub(crate) fn children_of(answer: MultiReadResult) -> Option<Vec<String>> {
    match answer {
        MultiReadResult::Children { children } => Some(children),
        _ => None,
    }
}

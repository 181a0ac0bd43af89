//! Looks at many queues, one request.
//!
//! A free lock is taken by a node and a look at its queue. With many tasks in one session the looks would
//! be a third of all requests: those that are asked for while the runtime goes round once leave together.

use std::sync::Arc;

use tokio::sync::oneshot;
use zookeeper_client::{Client, Error as ZkError, MultiReadResult};

use dlock_core::toolkit::Lock;

/// A server answers so many before it turns to others.
const SIZE_MAX: usize = 128;

type Answer = Result<Vec<String>, ZkError>;

/// The looks that have not left yet.
#[derive(Clone, Default)]
pub(crate) struct Looks(Arc<Lock<Vec<Look>>>);

struct Look {
    directory: String,
    answer: oneshot::Sender<Answer>,
}

impl Looks {
    /// The children of `directory`, as they are after everything that was sent before this call.
    pub(crate) async fn children(&self, client: &Client, directory: &str) -> Answer {
        let (answer, answered) = oneshot::channel();
        let look = Look {
            directory: directory.to_owned(),
            answer,
        };
        let is_first = {
            let mut boarding = self.0.lock();
            boarding.push(look);
            boarding.len() == 1
        };
        if is_first {
            tokio::spawn(self.clone().leave(client.clone()));
        }
        answered.await.unwrap_or(Err(ZkError::ConnectionLoss))
    }

    async fn leave(self, client: Client) {
        tokio::task::yield_now().await;
        let mut looks = std::mem::take(&mut *self.0.lock());
        while !looks.is_empty() {
            let rest = looks.split_off(looks.len().min(SIZE_MAX));
            fly(&client, looks).await;
            looks = rest;
        }
    }
}

async fn fly(client: &Client, looks: Vec<Look>) {
    let mut reader = client.new_multi_reader();
    let asked = looks
        .iter()
        .try_for_each(|look| reader.add_get_children(&look.directory));
    let answers = match asked {
        Ok(()) => reader.commit().await,
        Err(error) => Err(error),
    };
    match answers {
        Ok(answers) => {
            for (look, answer) in looks.into_iter().zip(answers) {
                let _ = look.answer.send(match answer {
                    MultiReadResult::Children { children } => Ok(children),
                    MultiReadResult::Error { err } => Err(err),
                    _ => Err(ZkError::UnexpectedError(
                        "an answer of another shape".to_owned(),
                    )),
                });
            }
        }
        Err(error) => {
            for look in looks {
                let _ = look.answer.send(Err(error.clone()));
            }
        }
    }
}

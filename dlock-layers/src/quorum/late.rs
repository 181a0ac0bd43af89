//! An answer that may come too late.

use tokio::sync::oneshot;

/// The receiver of an answer. One that has come and is not read goes to `unread`.
pub(super) struct Late<T, U: FnMut(T)> {
    answer: oneshot::Receiver<T>,
    unread: U,
}

impl<T, U: FnMut(T)> Late<T, U> {
    pub(super) fn new(answer: oneshot::Receiver<T>, unread: U) -> Self {
        Self { answer, unread }
    }

    /// The answer; `None` if there will be none.
    pub(super) async fn read(mut self) -> Option<T> {
        (&mut self.answer).await.ok()
    }
}

impl<T, U: FnMut(T)> Drop for Late<T, U> {
    fn drop(&mut self) {
        // From here on the sender keeps its answer.
        self.answer.close();
        if let Ok(answer) = self.answer.try_recv() {
            (self.unread)(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn an_answer_is_read_or_given_back_or_kept_by_its_sender() {
        let mut unread = Vec::new();
        let (sender, answer) = oneshot::channel();
        let late = Late::new(answer, |answer| unread.push(answer));
        sender.send(1).expect("there is a receiver");
        assert_eq!(late.read().now_or_never(), Some(Some(1)));
        let (sender, answer) = oneshot::channel();
        let late = Late::new(answer, |answer| unread.push(answer));
        let mut reading = Box::pin(late.read());
        assert_eq!(reading.as_mut().now_or_never(), None);
        sender.send(2).expect("there is a receiver");
        drop(reading);
        let (sender, answer) = oneshot::channel();
        drop(Late::new(answer, |answer| unread.push(answer)));
        assert_eq!(sender.send(3), Err(3));
        assert_eq!(unread, [2]);
    }
}

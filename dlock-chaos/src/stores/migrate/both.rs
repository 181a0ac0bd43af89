//! The servers of two stores.

use std::{io, path::PathBuf, sync::Arc};

use async_trait::async_trait;

use crate::servers::{Order, Servers};

/// Servers of the first store, then those of the second one.
pub(super) struct Both<A, B>(pub(super) Arc<A>, pub(super) Arc<B>);

#[async_trait]
impl<A: Servers, B: Servers> Servers for Both<A, B> {
    fn count(&self) -> usize {
        self.0.count() + self.1.count()
    }

    async fn order(&self, index: usize, order: Order) -> io::Result<()> {
        match index.checked_sub(self.0.count()) {
            None => self.0.order(index, order).await,
            Some(index) => self.1.order(index, order).await,
        }
    }

    async fn directory(&self, index: usize) -> PathBuf {
        match index.checked_sub(self.0.count()) {
            None => self.0.directory(index).await,
            Some(index) => self.1.directory(index).await,
        }
    }
}

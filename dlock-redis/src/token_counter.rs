//! The token counter, which a quorum raises.

use async_trait::async_trait;
use dlock_core::{
    Result, Token,
    backend::{Lease, TokenCounter},
};

use crate::{backend::RedisLock, scripts::RaiseItem};

#[async_trait]
impl TokenCounter for RedisLock {
    async fn raise(&self, lease: &Lease, token: Token) -> Result<bool> {
        let item = RaiseItem {
            keys: self.keys_of(lease)?,
            id: lease.id(),
            token,
        };
        self.raises.raise(item).await
    }
}

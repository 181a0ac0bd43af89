//! The token counter, which a quorum raises.

use async_trait::async_trait;
use dlock_core::{
    Result, Token,
    backend::{Lease, TokenCounter},
};

use crate::{
    backend::RedisLock,
    conn::replication::wait_for_replicas,
    scripts::{Call, RaiseCall},
};

#[async_trait]
impl TokenCounter for RedisLock {
    async fn raise(&self, lease: &Lease, token: Token) -> Result<bool> {
        let (router, keys) = (&self.router, self.keys_of(lease)?);
        let call = RaiseCall {
            counter: &router.counter_key(&keys.lock),
            lock: &keys.lock,
            id: lease.id(),
            token,
        };
        let reply = router.send(Call::Raise(call), None).await?;
        let is_raised = RaiseCall::parse(reply.value.clone())?;
        if is_raised {
            router.observe_token(token);
            wait_for_replicas(&reply, &router.options).await?;
        }
        Ok(is_raised)
    }
}

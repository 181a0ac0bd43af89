//! The counter of tokens in a memory store.

use async_trait::async_trait;

use super::{Memory, faults::Operation};
use crate::{
    backend::{lease::Lease, token_counter::TokenCounter},
    base::{error::Result, token::Token},
};

#[async_trait]
impl TokenCounter for Memory {
    async fn raise(&self, lease: &Lease, token: Token) -> Result<bool> {
        self.check_open()?;
        let reply = self.faults.apply_uncancelled(Operation::Raise).await?;
        reply.deliver(Ok(self.store.raise(&lease.name, lease.id(), token)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{base::name::LockName, client::locker::Locker};

    #[tokio::test(start_paused = true)]
    async fn only_the_holder_raises_it() -> Result<()> {
        let store = Memory::new();
        let locks = Locker::builder(store.clone()).build()?;
        let guard = locks.acquire("a").await?;
        let name = LockName::new("a")?;
        let holder = store.store.holder(&name).and_then(|held| held.attempt);
        let id = holder.expect("it is held");
        assert!(store.store.raise(&name, id, token(70)));
        assert!(store.store.raise(&name, id, token(60)), "never lower");
        let held = locks.inspect("a").await?.expect("it is held");
        assert_eq!(held.token, Some(token(70)));
        guard.release().await?;
        assert!(!store.store.raise(&name, id, token(90)));
        let guard = locks.acquire("a").await?;
        assert_eq!(guard.token(), token(71));
        assert!(!store.store.raise(&name, id, token(90)), "another attempt");
        Ok(())
    }

    fn token(value: u64) -> Token {
        Token::new(value).expect("positive")
    }
}

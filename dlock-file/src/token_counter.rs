//! The token in a lock file, which a quorum raises.

use dlock_core::{
    Error, ErrorKind, Result, Token,
    backend::{Lease, TokenCounter, async_trait},
};

use crate::backend::FileLock;

#[async_trait]
impl TokenCounter for FileLock {
    async fn raise(&self, lease: &Lease, token: Token) -> Result<bool> {
        self.lifecycle.check_open()?;
        // One more must be left for the next grant.
        if token.get() >= Token::MAX {
            let why = format!("the token {token} is too large for a lock file");
            return Err(Error::new(ErrorKind::Internal, why));
        }
        Self::held(lease)?.raise(token)
    }
}

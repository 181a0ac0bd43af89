//! K5, when other servers take over or the same ones start again: tokens grow, also for a client whose
//! connection outlived it.

use std::time::Duration;

use dlock_core::{LockName, Locker, Token};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{Case, CaseContext, Profile, case};

/// How many grants each of the servers gives.
const GRANTS: usize = 10;

/// The longest time until locks are granted again: the servers elect a leader first.
const GRANTED_MAX: Duration = Duration::from_secs(60);

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(they_grow_over_a_failover_and_back, Profile::fails_over).dedicated()]
}

async fn they_grow_over_a_failover_and_back(context: &CaseContext) -> Outcome {
    let name = context.name("failover")?;
    let mut tokens = Tokens {
        context,
        name,
        last: None,
    };
    let first = context.locker().await?;
    tokens.grow(&first, GRANTS).await?;
    let backdoor = context.backdoor()?;
    backdoor.fail_over(&context.address, &tokens.name).await?;
    let second = context.locker().await?;
    tokens.grow(&second, GRANTS).await?;
    backdoor.fail_over(&context.address, &tokens.name).await?;
    // The first server does not know the grants of the second one.
    tokens.grow(&first, GRANTS).await?;
    tokens.grow(&second, GRANTS).await?;
    tokens.grow(&context.locker().await?, GRANTS).await
}

struct Tokens<'a> {
    context: &'a CaseContext,
    name: LockName,
    last: Option<Token>,
}

impl Tokens<'_> {
    /// Acquires the lock several times, each time with a larger token.
    async fn grow(&mut self, locker: &Locker, grants: usize) -> Outcome {
        for _ in 0..grants {
            let acquire = locker.acquire(&self.name).wait_forever();
            let guard = self
                .context
                .within(GRANTED_MAX, "a grant", acquire)
                .await??;
            let (before, now) = (self.last.replace(guard.token()), guard.token());
            ensure!(
                before.is_none_or(|before| before < now),
                "token {now} after {before:?}"
            );
            guard.release().await?;
        }
        Ok(())
    }
}

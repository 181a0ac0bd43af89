//! K5, when other servers take over or the same ones start again: tokens grow, also for a client whose
//! connection outlived it.

use std::time::Duration;

use dlock_core::{LockName, Locker, Token};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{Case, Profile, Rig, case};

/// How many grants each of the servers gives.
const GRANTS: usize = 10;

/// How long it may take until locks are granted again: servers have to agree on who leads.
const GRANTED_MAX: Duration = Duration::from_secs(60);

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(they_grow_over_a_failover_and_back, Profile::fails_over).alone()]
}

async fn they_grow_over_a_failover_and_back(rig: &Rig) -> Outcome {
    let name = rig.name("failover")?;
    let mut tokens = Tokens {
        rig,
        name,
        last: None,
    };
    let first = rig.locker().await?;
    tokens.grow(&first, GRANTS).await?;
    let backdoor = rig.backdoor()?;
    backdoor.fail_over(&rig.address, &tokens.name).await?;
    let second = rig.locker().await?;
    tokens.grow(&second, GRANTS).await?;
    backdoor.fail_over(&rig.address, &tokens.name).await?;
    // It knows nothing of what the second one was given.
    tokens.grow(&first, GRANTS).await?;
    tokens.grow(&second, GRANTS).await?;
    tokens.grow(&rig.locker().await?, GRANTS).await
}

struct Tokens<'a> {
    rig: &'a Rig,
    name: LockName,
    last: Option<Token>,
}

impl Tokens<'_> {
    /// Takes the lock so many times, with larger tokens each time.
    async fn grow(&mut self, locker: &Locker, grants: usize) -> Outcome {
        for _ in 0..grants {
            let acquire = locker.acquire(&self.name).wait_forever();
            let guard = self.rig.within(GRANTED_MAX, "a grant", acquire).await??;
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

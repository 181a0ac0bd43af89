//! The tokens of one server are ahead of the others', and it goes down (T86).

use dlock_servers::{Program, redis::dlock_keys::COUNTER};

use crate::{
    servers::Servers,
    support::{Outcome, TTL_LONG, cases, take},
};

cases![t86_tokens_grow_after_the_server_that_was_ahead];

/// An hour, in microseconds: the counter of a server follows its clock.
const AHEAD: i64 = 3_600_000_000;

async fn t86_tokens_grow_after_the_server_that_was_ahead(program: Program) -> Outcome {
    for ahead in 0..3 {
        let mut servers = Servers::start(&program, 3).await?;
        let keys = format!("restart_guard=0s&ttl={}s", TTL_LONG.as_secs());
        let locker = servers.connect(&keys).await?;
        let guard = take(&locker, "a").await?;
        let first = guard.token();
        guard.release().await?;
        let node = &servers.0[ahead];
        let counter = node.command(&["GET", COUNTER]).await?.text()?;
        let counter = (counter.parse::<i64>()? + AHEAD).to_string();
        node.command(&["SET", COUNTER, &counter]).await?;
        let guard = take(&locker, "a").await?;
        let second = guard.token();
        assert!(second > first);
        guard.release().await?;
        servers.0[ahead].kill()?;
        let guard = take(&locker, "a").await?;
        assert!(
            guard.token() > second,
            "{:?} after {second:?}",
            guard.token()
        );
        guard.release().await?;
        servers.0[ahead].resume().await?;
        servers.until_clean().await?;
    }
    Ok(())
}

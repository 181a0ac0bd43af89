//! The requests of a contended grant, as the server's log counts them.

use std::time::Duration;

use dlock::Locker;
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use tokio::time::timeout;

use crate::support::{
    HOLDING_CONNECTION, Outcome, TTL_LONG, UNTIL_PREPARED, cases, execute, holder, open, queued,
    root, soon, start, take, until,
};

cases![
    a_contended_grant_is_a_wait_a_confirmation_and_a_release,
    a_name_that_is_free_again_costs_two_requests,
    a_confirmation_is_one_prepared_statement,
    t67_a_confirmation_on_a_server_made_read_only_is_no_grant,
    t64_a_wait_without_a_try_that_is_not_confirmed_goes_to_the_next_one,
];

/// A wait, its confirmation, and the release. The bare row lock has all but the confirmation.
const REQUESTS: u64 = 3;

/// How long a connection uses what it has read of the epoch.
const READ_MAX: Duration = Duration::from_millis(500);

/// A waiter would be granted within.
const REFUSED_FOR: Duration = Duration::from_millis(500);

/// A try, and the release.
const REQUESTS_UNCONTENDED: u64 = 2;

/// A try that finds the name taken costs one more. A later wait for the name is sent without it.
async fn a_contended_grant_is_a_wait_a_confirmation_and_a_release(flavour: Flavour) -> Outcome {
    let contention = Contention::start(flavour).await?;
    assert_eq!(contention.grant().await?, REQUESTS + 1);
    contention.until_without_try().await
}

async fn a_name_that_is_free_again_costs_two_requests(flavour: Flavour) -> Outcome {
    let contention = Contention::start(flavour).await?;
    contention.until_without_try().await?;
    until("it is tried first", async || {
        let sent = contention.sent().await?;
        take(&contention.waiting, "a").await?.release().await?;
        Ok(contention.sent().await? - sent == REQUESTS_UNCONTENDED)
    })
    .await
}

/// The epoch is old when the wait begins, and is read while it lasts.
async fn a_confirmation_is_one_prepared_statement(flavour: Flavour) -> Outcome {
    let contention = Contention::start(flavour).await?;
    until("a confirmation is prepared", async || {
        contention.grant().await?;
        let before = contention.confirmations().await?;
        tokio::time::sleep(READ_MAX).await;
        contention.grant().await?;
        let [text, prepared] = contention.confirmations().await?;
        Ok([text, prepared] == [before[0], before[1] + 1])
    })
    .await
}

/// The prepared statement finds that, too.
async fn t67_a_confirmation_on_a_server_made_read_only_is_no_grant(flavour: Flavour) -> Outcome {
    let contention = Contention::start(flavour).await?;
    let (node, waiting) = (&contention.node, &contention.waiting);
    let mut root = root(node).await?;
    until("a refused confirmation was prepared", async || {
        for _ in 0..UNTIL_PREPARED {
            contention.grant().await?;
        }
        let [_, before] = contention.confirmations().await?;
        let held = take(&contention.holding, "a").await?;
        // Text reads the epoch, too, if the wait has not.
        tokio::time::sleep(READ_MAX).await;
        let mut waiter = queued(node, waiting.acquire("a").wait_forever(), 1).await?;
        // The setting waits for statements, so it comes between the wait and the confirmation.
        contention.proxy.set(Direction::ToServer, Fault::Hold);
        held.release().await?;
        // The waiter's session has the row.
        holder(node).await?;
        execute(&mut root, "SET GLOBAL read_only = 1").await?;
        contention.proxy.set(Direction::ToServer, Fault::None);
        let early = timeout(REFUSED_FOR, &mut waiter).await;
        assert!(early.is_err(), "{early:?}");
        let [_, refused] = contention.confirmations().await?;
        execute(&mut root, "SET GLOBAL read_only = 0").await?;
        soon("it is granted", waiter).await???.release().await?;
        Ok(refused > before)
    })
    .await
}

/// As after a try: the session has a short time to confirm, and the next one does not wait for the ttl.
async fn t64_a_wait_without_a_try_that_is_not_confirmed_goes_to_the_next_one(
    flavour: Flavour,
) -> Outcome {
    let contention = Contention::start(flavour).await?;
    let (node, holding) = (&contention.node, &contention.holding);
    let mut without_try = None;
    until("the wait is sent without a try", async || {
        let held = take(holding, "a").await?;
        let sent = contention.sent().await?;
        let waiter = queued(node, contention.waiting.acquire("a").wait_forever(), 1).await?;
        if contention.sent().await? - sent == 1 {
            without_try = Some((held, waiter));
            return Ok(true);
        }
        held.release().await?;
        soon("it is granted", waiter).await???.release().await?;
        Ok(false)
    })
    .await?;
    let (held, waiter) = without_try.ok_or("no waiter")?;
    let connection = contention.proxy.connection(HOLDING_CONNECTION).await;
    connection.set_both(Fault::Hold);
    held.release().await?;
    let next = take(holding, "a").await?;
    connection.set_both(Fault::None);
    let token = next.token();
    next.release().await?;
    let guard = soon("it is granted", waiter).await???;
    assert!(guard.token() > token, "{} after {token}", guard.token());
    Ok(guard.release().await?)
}

/// A client that holds a lock, and another one that waits for it behind a proxy.
struct Contention {
    flavour: Flavour,
    node: Node,
    holding: Locker,
    waiting: Locker,
    /// The session that waits.
    session: String,
    proxy: Proxy,
}

impl Contention {
    async fn start(flavour: Flavour) -> Outcome<Self> {
        let node = start(flavour).await?;
        let proxy = Proxy::start(node.address())?;
        let holding = open(&node.url(), TTL_LONG).await?;
        let waiting = open(&node.url_at(proxy.address()), TTL_LONG).await?;
        let first = take(&waiting, "a").await?;
        let session = holder(&node).await?;
        first.release().await?;
        node.query("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = 1")
            .await?;
        Ok(Self {
            flavour,
            node,
            holding,
            waiting,
            session,
            proxy,
        })
    }

    /// The requests of one grant that is waited for, and of its release.
    async fn grant(&self) -> Outcome<u64> {
        let held = take(&self.holding, "a").await?;
        let sent = self.sent().await?;
        let waiter = queued(&self.node, self.waiting.acquire("a").wait_forever(), 1).await?;
        held.release().await?;
        soon("it is granted", waiter).await???.release().await?;
        Ok(self.sent().await? - sent)
    }

    /// Repeats the grant until it needs no try. A busy machine may be too slow once.
    async fn until_without_try(&self) -> Outcome {
        until("the wait is sent without a try", async || {
            Ok(self.grant().await? == REQUESTS)
        })
        .await
    }

    /// How many grants were confirmed: by text, and by a prepared statement.
    async fn confirmations(&self) -> Outcome<[u64; 2]> {
        let count = async |which: &str| -> Outcome<u64> {
            let sql = format!("SELECT COUNT(*) FROM mysql.general_log WHERE {which}");
            Ok(self.node.query(&sql).await?.concat().concat().parse()?)
        };
        let text = "command_type = 'Query' AND argument LIKE '%SELECT CONNECTION_ID(), @@global.read_only'";
        let prepared = "command_type = 'Execute' AND argument LIKE 'SET SESSION%'";
        Ok([count(text).await?, count(prepared).await?])
    }

    /// How many requests the session that waits has sent.
    async fn sent(&self) -> Outcome<u64> {
        // MariaDB logs requests, and MySQL each statement of one.
        let further_statements = match self.flavour {
            Flavour::MySqlNewest => {
                "command_type = 'Query' AND (argument LIKE 'SET %' OR argument LIKE 'SELECT epoch%')"
            }
            _ => "FALSE",
        };
        let sql = format!(
            "SELECT COUNT(*) FROM mysql.general_log WHERE thread_id = {} AND command_type IN ('Query', \
             'Execute') AND NOT ({further_statements})",
            self.session
        );
        Ok(self.node.query(&sql).await?.concat().concat().parse()?)
    }
}

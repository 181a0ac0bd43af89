//! Names that are used for the first time: their rows are inserted.

use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use tokio::task::JoinSet;

use crate::support::{
    Outcome, TTL_LONG, cases, execute, open, root, soon, start, take, until, warm,
};

cases![
    rows_of_many_new_names_are_inserted_together,
    a_row_that_is_locked_delays_no_other_new_name_for_long,
];

/// How many names are new at a time.
const NAMES: usize = 12;

/// The first one alone, and the others together. One by one they would be as many as the names.
const STATEMENTS_MAX: u64 = 3;

/// Which connection of a locker is that for tables, as `warm` counts them.
const TABLES_CONNECTION: usize = 0;

async fn rows_of_many_new_names_are_inserted_together(flavour: Flavour) -> Outcome {
    let names = NewNames::start(flavour).await?;
    let before = names.statements("Com_insert").await?;
    let mut tasks = names.acquire_behind_a_held_connection().await?;
    names.release_connection().await;
    while let Some(granted) = soon("all are granted", tasks.join_next()).await? {
        granted??.1.release().await?;
    }
    let inserts = names.statements("Com_insert").await? - before;
    assert!(inserts <= STATEMENTS_MAX, "{inserts} statements");
    Ok(())
}

/// Another client has inserted it meanwhile, and holds it.
async fn a_row_that_is_locked_delays_no_other_new_name_for_long(flavour: Flavour) -> Outcome {
    const LOCKED: usize = 3;
    let names = NewNames::start(flavour).await?;
    let mut tasks = names.acquire_behind_a_held_connection().await?;
    let mut other = root(&names.node).await?;
    let rows: Vec<_> = (0..LOCKED).map(|n| format!("('{}')", name(n))).collect();
    execute(&mut other, "BEGIN").await?;
    let insert = format!("INSERT INTO dlock_locks (name) VALUES {}", rows.join(", "));
    execute(&mut other, &insert).await?;
    names.release_connection().await;
    for _ in LOCKED..NAMES {
        let granted = soon("the others are granted", tasks.join_next()).await?;
        let (number, guard) = granted.ok_or("too few")???;
        assert!(number >= LOCKED, "{number} is locked");
        guard.release().await?;
    }
    execute(&mut other, "COMMIT").await?;
    while let Some(granted) = soon("the locked ones are granted", tasks.join_next()).await? {
        granted??.1.release().await?;
    }
    Ok(())
}

fn name(number: usize) -> String {
    format!("new-{number:02}")
}

/// A locker behind a proxy.
struct NewNames {
    node: Node,
    proxy: Proxy,
    locker: dlock::Locker,
}

type Acquires = JoinSet<dlock::Result<(usize, dlock::Guard)>>;

impl NewNames {
    async fn start(flavour: Flavour) -> Outcome<Self> {
        let node = start(flavour).await?;
        let proxy = Proxy::start(node.address())?;
        let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
        warm(&node, &locker).await?;
        take(&locker, "ready").await?.release().await?;
        Ok(Self {
            node,
            proxy,
            locker,
        })
    }

    /// Acquires all names, whose rows cannot be inserted yet. Returns when each was found missing.
    async fn acquire_behind_a_held_connection(&self) -> Outcome<Acquires> {
        let connection = self.proxy.connection(TABLES_CONNECTION).await;
        connection.set(Direction::ToServer, Fault::Hold);
        let before = self.statements("Com_select").await?;
        let mut tasks = JoinSet::new();
        for number in 0..NAMES {
            let acquire = self.locker.acquire(name(number)).wait_forever();
            tasks.spawn(async move { Ok((number, acquire.await?)) });
        }
        until("each row was found missing", async || {
            Ok(self.statements("Com_select").await? >= before + NAMES as u64)
        })
        .await?;
        Ok(tasks)
    }

    async fn release_connection(&self) {
        let connection = self.proxy.connection(TABLES_CONNECTION).await;
        connection.set(Direction::ToServer, Fault::None);
    }

    /// How many statements of a kind the server has executed.
    async fn statements(&self, kind: &str) -> Outcome<u64> {
        let rows = self
            .node
            .query(&format!("SHOW GLOBAL STATUS LIKE '{kind}'"))
            .await?;
        let value = rows.first().and_then(|row| row.last()).ok_or("no status")?;
        Ok(value.parse()?)
    }
}

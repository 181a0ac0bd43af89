//! Names that are used for the first time: their rows are inserted.

use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use tokio::task::JoinSet;

use crate::support::{
    Outcome, TTL_LONG, cases, execute, open, root, soon, start, take, until, warm,
};

cases![
    rows_of_many_new_names_are_inserted_together,
    k06_a_row_that_is_locked_makes_no_other_name_taken,
];

/// How many names are new at a time.
const NAMES: usize = 12;

/// The first one alone, and the others together, unless some come late. One by one they would be as many as the names.
const STATEMENTS_MAX: u64 = NAMES as u64 / 2;

/// Which connection of a locker is that for tables, as `warm` counts them.
const TABLES_CONNECTION: usize = 0;

async fn rows_of_many_new_names_are_inserted_together(flavour: Flavour) -> Outcome {
    let names = NewNames::start(flavour).await?;
    let before = names.statements("Com_insert").await?;
    let mut tasks = names.try_behind_a_held_connection().await?;
    names.release_connection().await;
    while let Some(tried) = soon("each is answered", tasks.join_next()).await? {
        tried??.1.ok_or("not granted")?.release().await?;
    }
    let inserts = names.statements("Com_insert").await? - before;
    assert!(inserts <= STATEMENTS_MAX, "{inserts} statements");
    Ok(())
}

/// Another client has inserted it before its turn, and holds it.
async fn k06_a_row_that_is_locked_makes_no_other_name_taken(flavour: Flavour) -> Outcome {
    const LOCKED: usize = 3;
    let names = NewNames::start(flavour).await?;
    let mut tasks = names.try_behind_a_held_connection().await?;
    let mut other = root(&names.node).await?;
    let locked: Vec<_> = (0..LOCKED).map(|n| format!("('{}')", name(n))).collect();
    let locked = locked.join(", ");
    let insert = format!("INSERT INTO dlock_locks (name) VALUES {locked}");
    execute(&mut other, &insert).await?;
    // It locks no gaps between the rows.
    let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    let lock = format!("SELECT name FROM dlock_locks WHERE name IN ({locked}) FOR UPDATE");
    execute(&mut other, &format!("{isolation}; BEGIN; {lock}")).await?;
    names.release_connection().await;
    while let Some(tried) = soon("each is answered", tasks.join_next()).await? {
        let (number, guard) = tried??;
        assert_eq!(guard.is_none(), number < LOCKED, "{number}");
        if let Some(guard) = guard {
            guard.release().await?;
        }
    }
    execute(&mut other, "COMMIT").await
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

type Tries = JoinSet<dlock::Result<(usize, Option<dlock::Guard>)>>;

impl NewNames {
    async fn start(flavour: Flavour) -> Outcome<Self> {
        let node = start(flavour).await?;
        let proxy = Proxy::start(node.address())?;
        let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
        warm(&node, &locker).await?;
        // Each has its connection ready: to open one takes a turn on that for tables.
        let mut held = Vec::new();
        for number in 0..NAMES {
            held.push(take(&locker, &format!("old-{number}")).await?);
        }
        for guard in held {
            guard.release().await?;
        }
        Ok(Self {
            node,
            proxy,
            locker,
        })
    }

    /// Tries all names, whose rows cannot be inserted yet. Returns when each was found missing.
    async fn try_behind_a_held_connection(&self) -> Outcome<Tries> {
        let connection = self.proxy.connection(TABLES_CONNECTION).await;
        connection.set(Direction::ToServer, Fault::Hold);
        let before = self.statements("Com_select").await?;
        let mut tasks = JoinSet::new();
        for number in 0..NAMES {
            let tried = self.locker.try_acquire(name(number));
            tasks.spawn(async move { Ok((number, tried.await?)) });
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

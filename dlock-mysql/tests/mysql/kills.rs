//! Tokens grow over kills (`kill -9`) of the server and of the holder at each point of a cycle (T69).
//!
//! The holder is this binary, started again. It reaches the server by a proxy that keeps one packet,
//! so each point is an event and no matter of time.

use std::{env, time::Duration};

use dlock::Token;
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::Direction;
use libtest_mimic::Trial;
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, Row as _, raw_sql};

use crate::{
    holder::{Holder, take_with_long_wait, with_long_timeouts},
    support::{Outcome, TTL_LONG, open, start, until},
};

/// How many kills of each kind; without it, one at each point.
const ROUNDS_ENV: &str = "DLOCK_TEST_ROUNDS";

/// How often the holder takes and releases before, in turns: by then its statements are prepared, or are
/// text yet.
const CYCLES: [usize; 2] = [5, 1];

/// The bound of a round, and of the start of a server.
const ROUND_MAX: Duration = Duration::from_secs(100);

/// The process that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Server,
    Holder,
}

/// The point that the holder has reached then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    BeforeTheSelect,
    AfterTheSelect,
    Held,
    BeforeTheRelease,
    AfterTheRelease,
    BeforeTheEpoch,
    AfterTheEpoch,
}

impl Point {
    const ALL: [Self; 7] = [
        Self::BeforeTheSelect,
        Self::AfterTheSelect,
        Self::Held,
        Self::BeforeTheRelease,
        Self::AfterTheRelease,
        Self::BeforeTheEpoch,
        Self::AfterTheEpoch,
    ];
}

pub(crate) fn trials(flavour: Flavour) -> Vec<Trial> {
    let trial = |name: &str, victim| {
        let rounds = env::var(ROUNDS_ENV).map_or(Ok(Point::ALL.len()), |rounds| rounds.parse());
        Trial::test(format!("{}::{name}", flavour.name()), move || {
            let rounds = rounds.map_err(|error| format!("{ROUNDS_ENV}: {error}"))?;
            let max = ROUND_MAX.saturating_mul(rounds.try_into().unwrap_or(u32::MAX));
            dlock_verify::support::run(max, kill(flavour, victim, rounds))
        })
    };
    vec![
        trial("t69_tokens_grow_over_kills_of_the_server", Victim::Server),
        trial("t69_tokens_grow_over_kills_of_the_holder", Victim::Holder),
    ]
}

async fn kill(flavour: Flavour, victim: Victim, rounds: usize) -> Outcome {
    let mut node = start(flavour).await?;
    let mut seen = Seen::default();
    let points = CYCLES.map(|cycles| Point::ALL.map(|point| (point, cycles)));
    let points = points.into_iter().flatten().cycle();
    for (round, (point, cycles)) in (0..rounds).zip(points) {
        seen.at = format!("round {round}, {victim:?} killed at {point:?} after {cycles} cycles");
        let mut holder = Holder::start(&node)?;
        let brought = holder.bring(&node, point, cycles, &mut seen).await;
        brought.map_err(|error| format!("{}: {}", seen.at, error.message().unwrap_or("?")))?;
        match victim {
            Victim::Server => {
                node.kill()?;
                drop(holder);
                node.resume().await?;
            }
            Victim::Holder => holder.kill().await?,
        }
        let locker = open(&with_long_timeouts(&node.url()), TTL_LONG).await?;
        let next = take_with_long_wait(&locker).await?;
        seen.grows(next.token());
        next.release().await?;
        locker.shutdown(TTL_LONG).await?;
    }
    Ok(())
}

/// The last token, and what happens at present.
#[derive(Default)]
struct Seen {
    last: Option<Token>,
    at: String,
}

impl Seen {
    fn grows(&mut self, token: Token) {
        let Self { last, at } = self;
        assert!(Some(token) > *last, "{at}: {token} after {last:?}");
        *last = Some(token);
    }
}

impl Holder {
    async fn bring(
        &mut self,
        node: &Node,
        point: Point,
        cycles: usize,
        seen: &mut Seen,
    ) -> Outcome {
        use Direction::{ToClient, ToServer};
        if matches!(point, Point::BeforeTheEpoch | Point::AfterTheEpoch) {
            return self.bring_to_the_epoch(node, point).await;
        }
        // So that its connection is ready, and the next that it sends is what is waited for.
        for _ in 0..cycles {
            seen.grows(self.take().await?);
            self.release().await?;
        }
        match point {
            Point::BeforeTheSelect => return self.held_up("take", ToServer).await,
            Point::AfterTheSelect => return self.held_up("take", ToClient).await,
            _ => seen.grows(self.take().await?),
        }
        match point {
            Point::Held => Ok(()),
            Point::BeforeTheRelease => self.held_up("release", ToServer).await,
            _ => self.held_up("release", ToClient).await,
        }
    }

    /// Another server has raised the epoch, as it seems, so that it is raised again.
    async fn bring_to_the_epoch(&mut self, node: &Node, point: Point) -> Outcome {
        let mut row = MySqlConnection::connect(&node.url()).await?;
        let lock = "UPDATE dlock_epoch SET boot = 7 WHERE id = 1; COMMIT; BEGIN; SELECT epoch FROM \
                    dlock_epoch WHERE id = 1 FOR UPDATE";
        let before = number(&mut row, lock).await?;
        self.order("take").await?;
        until("the epoch is raised", async || {
            let raising = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE \
                           'UPDATE dlock_epoch%'";
            Ok(number(&mut row, raising).await? > 0)
        })
        .await?;
        if point == Point::BeforeTheEpoch {
            return Ok(());
        }
        self.hold_up(Direction::ToClient)?;
        until("it is committed", async || {
            let read_epoch = "COMMIT; SELECT epoch FROM dlock_epoch WHERE id = 1";
            Ok(number(&mut row, read_epoch).await? > before)
        })
        .await
    }
}

/// The number that the last of these statements says.
async fn number(connection: &mut MySqlConnection, sql: &str) -> Outcome<u64> {
    let rows = raw_sql(AssertSqlSafe(sql.to_owned())).fetch_all(connection);
    let rows = rows.await?;
    let number: &str = rows.last().ok_or("no row")?.try_get_unchecked(0)?;
    Ok(number.parse()?)
}
